import type { SizeName } from '@mayfly/contract';
import type { AgentChannel, EgressPolicy, Machine, MachineExit } from '../../core/ports/machine-driver.ts';
import { openAgentChannel } from './agent-channel.ts';
import { exitReason } from './exit-reason.ts';
import type { Ground } from './grounds.ts';
import type { Holdings } from './holdings.ts';
import { readLogTail } from './process.ts';
import type { RestoredProcess } from './restore.ts';
import type { StepRunner } from './steps.ts';

/** How long the agent's sockets may take to accept, in milliseconds. */
const channelDeadlineMs = 5_000;

/** What a machine is made of. */
export interface MachineParts extends RestoredProcess {
  readonly ground: Omit<Ground, 'cgroupProcs'>;
  /** Its process and all that it stands on. */
  readonly holdings: Holdings;
  readonly step: StepRunner;
}

/** One QEMU process as a machine. */
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
    return this.#parts.ground.id;
  }

  get size(): SizeName {
    return this.#parts.ground.size;
  }

  /** Where QEMU writes what it has to say. */
  get logPath(): string {
    return this.#parts.ground.layout.logPath;
  }

  get pid(): number {
    return this.#parts.process.pid;
  }

  async openAgentChannel(signal?: AbortSignal): Promise<AgentChannel> {
    if (this.#destroyRequested || this.#parts.process.isGone) throw new Error(`machine ${this.id} is gone`);
    const deadline = AbortSignal.timeout(channelDeadlineMs);
    const { sockets } = this.#parts.ground.layout;
    return await openAgentChannel(sockets, signal ? AbortSignal.any([signal, deadline]) : deadline);
  }

  /** When it fails, the machine goes on running as if it had not been asked, unless QEMU does not answer at all. */
  async pause(): Promise<void> {
    const { step, qmp } = this.#parts;
    try {
      await step('pause', () => qmp.execute('stop'));
    } catch (error) {
      await qmp.execute('cont').catch(() => {});
      throw error;
    }
  }

  /** When it fails, it may be asked again. */
  async resume(): Promise<void> {
    const { step, qmp } = this.#parts;
    await step('resume', () => qmp.execute('cont'));
  }

  destroy(): Promise<void> {
    this.#destroyRequested = true;
    this.#destroyed ??= this.#parts.holdings.release().catch((error: unknown) => {
      this.#destroyed = undefined;
      throw error;
    });
    return this.#destroyed;
  }

  setEgress(policy: EgressPolicy): Promise<void> {
    return this.#parts.ground.network.setEgress(policy);
  }

  /** Lets go of the machine without touching it: the next service adopts it. */
  leave(): void {
    this.#parts.qmp.close();
  }

  async #watch(): Promise<MachineExit> {
    const end = await this.#parts.process.ended;
    if (this.#destroyRequested) return { requested: true, reason: 'destroyed' };
    await this.#parts.qmp.closed;
    const tail = await readLogTail(this.#parts.ground.layout.logPath).catch(() => '');
    return { requested: false, reason: exitReason(end, this.#shutdownReason, tail) };
  }
}
