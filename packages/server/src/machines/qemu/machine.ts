import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { SizeName } from '@mayfly/contract';
import { machineDeadlines } from '../../core/ports/machine-deadlines.ts';
import type {
  AgentChannel,
  EgressPolicy,
  Machine,
  MachineExit,
  MachineUsage,
  SaveResult,
} from '../../core/ports/machine-driver.ts';
import { withDeadline } from '../../core/scheduling/deadline.ts';
import { openAgentChannel } from '../../system/unix-sockets.ts';
import type { MachineResources } from './host-resources.ts';
import type { Cgroups } from './jail/cgroups.ts';
import { exitReason, explainingLine, readLogTail } from './machine-process.ts';
import type { ReleaseStack } from './release-stack.ts';
import type { RestoredProcess } from './restore.ts';
import type { MachineSaver } from './snapshots/save.ts';
import type { MachineRequirements } from './snapshots/snapshot-folder.ts';
import type { StepRunner } from './steps.ts';

export interface MachineParts extends RestoredProcess {
  readonly resources: Omit<MachineResources, 'cgroupProcs'>;
  /** Ends the process and releases its resources. */
  readonly releases: ReleaseStack;
  readonly cgroups: Pick<Cgroups, 'memoryBytesOf'>;
  /** The key of the base that it was launched from. */
  readonly base: string | undefined;
  /** What a copy of it needs; undefined for a machine of an earlier Mayfly. */
  readonly requirements: MachineRequirements | undefined;
  readonly saver: Pick<MachineSaver, 'save'>;
  readonly step: StepRunner;
}

/** A machine that is a QEMU process. */
export class QemuMachine implements Machine {
  readonly exited: Promise<MachineExit>;
  readonly #parts: MachineParts;
  #destroyRequested = false;
  #shutdownReason: string | undefined;
  #destroyed: Promise<void> | undefined;
  /** The save in progress. */
  #save: { readonly ended: Promise<unknown>; readonly cancel: AbortController } | undefined;

  constructor(parts: MachineParts) {
    this.#parts = parts;
    parts.qmp.onEvent(({ event, data }) => {
      if (event === 'SHUTDOWN' && typeof data.reason === 'string') this.#shutdownReason = data.reason;
      if (event === 'GUEST_PANICKED') this.#shutdownReason = 'guest-panic';
    });
    this.exited = this.#watch();
  }

  get id(): string {
    return this.#parts.resources.id;
  }

  get size(): SizeName {
    return this.#parts.resources.size;
  }

  /** QEMU's standard output and standard error. */
  get logPath(): string {
    return this.#parts.resources.layout.logPath;
  }

  get pid(): number {
    return this.#parts.process.pid;
  }

  async openAgentChannel(signal?: AbortSignal): Promise<AgentChannel> {
    if (this.#destroyRequested || this.#parts.process.isGone) throw new Error(`machine ${this.id} is gone`);
    return await openAgentChannel(this.#parts.resources.layout.sockets, signal);
  }

  /** When this fails, the machine keeps running, unless QEMU does not answer at all. */
  async pause(): Promise<void> {
    const { step, qmp } = this.#parts;
    this.#refuseDuringSave('paused');
    try {
      await step('pause', () => qmp.execute('stop'));
    } catch (error) {
      await qmp.execute('cont').catch(() => {});
      throw error;
    }
  }

  /** When this fails, it can be called again. */
  async resume(): Promise<void> {
    const { step, qmp } = this.#parts;
    this.#refuseDuringSave('resumed');
    await step('resume', () => qmp.execute('cont'));
  }

  destroy(): Promise<void> {
    this.#destroyRequested = true;
    this.#destroyed ??= this.#release().catch((error: unknown) => {
      this.#destroyed = undefined;
      throw error;
    });
    return this.#destroyed;
  }

  async save(snapshotId: string): Promise<SaveResult> {
    if (this.#destroyRequested || this.#parts.process.isGone) throw new Error(`machine ${this.id} is gone`);
    this.#refuseDuringSave('saved again');
    const cancel = new AbortController();
    const saved = this.#parts.saver.save(this.#parts, snapshotId, cancel.signal);
    this.#save = { ended: saved.catch(() => {}), cancel };
    try {
      return await saved;
    } finally {
      this.#save = undefined;
    }
  }

  async usage(): Promise<MachineUsage> {
    const { resources, cgroups } = this.#parts;
    const [memoryBytes, diskBytes] = await Promise.all([
      cgroups.memoryBytesOf(this.id),
      allocatedBytes(resources.layout.folder),
    ]);
    return { memoryBytes, diskBytes };
  }

  setEgress(policy: EgressPolicy): Promise<void> {
    return this.#parts.resources.network.setEgress(policy);
  }

  /** A save in progress is cancelled first, so that the machine does not stand still until it is adopted. */
  detach(): void {
    if (this.#save === undefined) this.#parts.qmp.close();
    else void this.endSave().finally(() => this.#parts.qmp.close());
  }

  /** Cancels a save in progress and waits until it has ended. */
  async endSave(): Promise<void> {
    this.#save?.cancel.abort(new Error('The save was cancelled.'));
    await withDeadline('ending the save', machineDeadlines.destroy.endSaveMs, Promise.resolve(this.#save?.ended)).catch(
      () => {},
    );
  }

  async #release(): Promise<void> {
    // The program that stores the memory runs under the machine's uid, which is released here.
    await this.endSave();
    await this.#parts.releases.release();
  }

  #refuseDuringSave(what: string): void {
    if (this.#save) throw new Error(`The machine ${this.id} is being saved. It can be ${what} after that.`);
  }

  async #watch(): Promise<MachineExit> {
    const end = await this.#parts.process.ended;
    if (this.#destroyRequested) return { requested: true, reason: 'destroyed' };
    await this.#parts.qmp.finish();
    const tail = await readLogTail(this.logPath).catch(() => '');
    const detail = explainingLine(tail).slice(0, 300);
    return { requested: false, reason: exitReason(end, this.#shutdownReason), detail: detail || undefined };
  }
}

/**
 * What the end of a machine gives back of the disk; 0 when its folder is gone. A disk layer is sparse, so its size says little. Files that snapshots or other
 * machines share stay.
 */
async function allocatedBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile());
  const stats = await Promise.all(files.map(({ parentPath, name }) => stat(join(parentPath, name)).catch(() => {})));
  return stats.reduce((sum, found) => sum + (found?.nlink === 1 ? found.blocks * 512 : 0), 0);
}
