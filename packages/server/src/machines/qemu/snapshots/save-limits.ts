import { statfs } from 'node:fs/promises';
import { formatBytes } from '@mayfly/contract';
import { machineDeadlines } from '../../../core/ports/machine-deadlines.ts';
import { HostFull } from '../../../core/ports/machine-driver.ts';
import { errorCode } from '../jail/cgroups.ts';

export interface SaveLimitsOptions {
  /** Whose file system saves are written to. */
  readonly folder: string;
  /** What a save leaves of the file system. */
  readonly diskReserveBytes: number;
  /** How long a save may take; 14 minutes when absent. */
  readonly deadlineMs?: number;
  /** What is free in the file system of a folder. */
  readonly freeBytesOf?: (folder: string) => Promise<number>;
}

/** A save starts only if this multiple of the disk reserve stays free, as a create does. */
const startFactor = 1.5;

/** A save is cancelled below this multiple of the disk reserve: before the service ends sandboxes to make room. */
const cancelFactor = 1.35;

const spaceCheckMs = 250;

const becameFull = 'The disk became full while the machine was saved. Delete snapshots, or free space on it.';

/** Limits the disk space that the saves of a host take together, and the time of each. */
export class SaveLimits {
  readonly #options: Required<SaveLimitsOptions>;
  /** What the saves in progress may write. */
  #admittedBytes = 0;

  constructor(options: SaveLimitsOptions) {
    this.#options = { deadlineMs: machineDeadlines.save.allStepsMs, freeBytesOf: readFreeBytes, ...options };
  }

  /** Reserves space for a save until the result is disposed. Throws HostFull when there is too little. */
  async admit(neededBytes: number): Promise<Disposable> {
    const { folder, diskReserveBytes, freeBytesOf } = this.#options;
    const freeBytes = (await freeBytesOf(folder)) - this.#admittedBytes;
    const reserveBytes = startFactor * diskReserveBytes;
    if (freeBytes - neededBytes < reserveBytes) {
      const [free, needed, reserve] = [Math.max(0, freeBytes), neededBytes, reserveBytes].map(formatBytes);
      const others = this.#admittedBytes === 0 ? '' : ' besides what other saves may need';
      throw new HostFull(
        `The file system of the data folder has ${free} left${others}. A snapshot needs up to ${needed} besides its reserve of ${reserve}. Delete snapshots, or free space there.`,
      );
    }
    this.#admittedBytes += neededBytes;
    const release = (): void => {
      this.#admittedBytes -= neededBytes;
    };
    return { [Symbol.dispose]: release };
  }

  /** Aborted when the disk becomes too full for the save to go on, or the save takes too long. The reason is an error for the user. */
  watch(): Disposable & { readonly signal: AbortSignal } {
    const { deadlineMs } = this.#options;
    const exceeded = new AbortController();
    const checkSpace = async (): Promise<void> => {
      if (await this.#isTooFull()) exceeded.abort(new HostFull(becameFull));
    };
    const expire = (): void => {
      const limit = `${Math.ceil(deadlineMs / 60_000)} minutes`;
      exceeded.abort(new Error(`The save was cancelled because it took longer than ${limit}. Try again later.`));
    };
    const checks = setInterval(() => void checkSpace().catch(() => {}), spaceCheckMs);
    const deadline = setTimeout(expire, deadlineMs);
    const stop = (): void => {
      clearInterval(checks);
      clearTimeout(deadline);
    };
    return { signal: exceeded.signal, [Symbol.dispose]: stop };
  }

  /** The disk may have become full during the save, whatever failed because of it. */
  async explain(error: unknown): Promise<unknown> {
    if (error instanceof HostFull) return error;
    const isFull = errorCode(error) === 'ENOSPC' || (await this.#isTooFull().catch(() => false));
    return isFull ? new HostFull(becameFull, { cause: error }) : error;
  }

  async #isTooFull(): Promise<boolean> {
    const { folder, diskReserveBytes, freeBytesOf } = this.#options;
    const freeBytes = await freeBytesOf(folder);
    return freeBytes === 0 || freeBytes < cancelFactor * diskReserveBytes;
  }
}

async function readFreeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
