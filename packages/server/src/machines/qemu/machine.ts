import { rm } from 'node:fs/promises';
import type { SizeName } from '@mayfly/contract';
import type { AgentChannel, Machine, MachineExit } from '../../core/ports/machine-driver.ts';
import { openAgentChannel } from './agent-channel.ts';
import { exitReason } from './exit-reason.ts';
import { readLogTail } from './process.ts';
import type { RestoredProcess } from './restore.ts';

/** How long the agent's sockets may take to accept, in milliseconds. */
const channelDeadlineMs = 5_000;

/** One QEMU process as a machine. */
export class QemuMachine implements Machine {
  readonly id: string;
  readonly size: SizeName;
  readonly exited: Promise<MachineExit>;
  readonly #parts: RestoredProcess;
  #destroyRequested = false;
  #shutdownReason: string | undefined;
  #destroyed: Promise<void> | undefined;

  constructor(id: string, size: SizeName, parts: RestoredProcess) {
    this.id = id;
    this.size = size;
    this.#parts = parts;
    parts.qmp.onEvent(({ event, data }) => {
      if (event === 'SHUTDOWN' && typeof data.reason === 'string') this.#shutdownReason = data.reason;
      if (event === 'GUEST_PANICKED') this.#shutdownReason = 'guest-panic';
    });
    this.exited = this.#watch();
  }

  get pid(): number {
    return this.#parts.process.pid;
  }

  async openAgentChannel(signal?: AbortSignal): Promise<AgentChannel> {
    if (this.#destroyRequested || this.#parts.process.isGone) throw new Error(`machine ${this.id} is gone`);
    const deadline = AbortSignal.timeout(channelDeadlineMs);
    return await openAgentChannel(this.#parts.layout.sockets, signal ? AbortSignal.any([signal, deadline]) : deadline);
  }

  async pause(): Promise<void> {
    await this.#parts.qmp.execute('stop');
  }

  async resume(): Promise<void> {
    await this.#parts.qmp.execute('cont');
  }

  destroy(): Promise<void> {
    this.#destroyRequested = true;
    this.#destroyed ??= this.#remove();
    return this.#destroyed;
  }

  async #watch(): Promise<MachineExit> {
    const end = await this.#parts.process.ended;
    if (this.#destroyRequested) return { requested: true, reason: 'destroyed' };
    await this.#parts.qmp.closed;
    const tail = await readLogTail(this.#parts.layout.logPath).catch(() => '');
    return { requested: false, reason: exitReason(end, this.#shutdownReason, tail) };
  }

  async #remove(): Promise<void> {
    await this.#parts.process.kill();
    this.#parts.qmp.close();
    await rm(this.#parts.layout.folder, { recursive: true, force: true });
  }
}
