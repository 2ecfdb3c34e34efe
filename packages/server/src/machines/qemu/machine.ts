import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { SizeName } from '@mayfly/contract';
import type {
  AgentChannel,
  EgressPolicy,
  Machine,
  MachineExit,
  MachineUsage,
} from '../../core/ports/machine-driver.ts';
import { openAgentChannel } from '../host/unix-sockets.ts';
import type { MachineResources } from './host-resources.ts';
import type { Cgroups } from './jail/cgroups.ts';
import { exitReason, readLogTail } from './machine-process.ts';
import type { ReleaseStack } from './release-stack.ts';
import type { RestoredProcess } from './restore.ts';
import type { StepRunner } from './steps.ts';

export interface MachineParts extends RestoredProcess {
  readonly resources: Omit<MachineResources, 'cgroupProcs'>;
  /** Ends the process and releases its resources. */
  readonly releases: ReleaseStack;
  readonly cgroups: Pick<Cgroups, 'memoryBytesOf'>;
  readonly step: StepRunner;
}

/** A machine that is a QEMU process. */
export class QemuMachine implements Machine {
  readonly exited: Promise<MachineExit>;
  readonly #parts: MachineParts;
  #destroyRequested = false;
  #shutdownReason: string | undefined;
  #destroyed: Promise<void> | undefined;

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
    await step('resume', () => qmp.execute('cont'));
  }

  destroy(): Promise<void> {
    this.#destroyRequested = true;
    this.#destroyed ??= this.#parts.releases.release().catch((error: unknown) => {
      this.#destroyed = undefined;
      throw error;
    });
    return this.#destroyed;
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

  detach(): void {
    this.#parts.qmp.close();
  }

  async #watch(): Promise<MachineExit> {
    const end = await this.#parts.process.ended;
    if (this.#destroyRequested) return { requested: true, reason: 'destroyed' };
    await this.#parts.qmp.closed;
    const tail = await readLogTail(this.logPath).catch(() => '');
    const detail = tail
      .split('\n')
      .findLast((line) => !line.includes(discardWarning))
      ?.slice(0, 300);
    return { requested: false, reason: exitReason(end, this.#shutdownReason), detail: detail || undefined };
  }
}

/** QEMU prints it once when a guest gives memory back. The library in host/qemu-preload sees to it that the file is not modified. */
const discardWarning = 'Discarding RAM in private file mappings';

/** What the files of a folder occupy on disk; 0 when it is gone. A disk layer is sparse, so its size says little. */
async function allocatedBytes(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => []);
  const stats = await Promise.all(names.map((name) => stat(join(folder, name)).catch(() => undefined)));
  return stats.reduce((sum, found) => sum + (found?.blocks ?? 0) * 512, 0);
}
