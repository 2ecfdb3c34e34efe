import type { SizeName } from '@mayfly/contract';
import {
  type AgentChannel,
  type EgressPolicy,
  HostFull,
  type Machine,
  type MachineExit,
  type MachineUsage,
  type SaveResult,
  type StoredSnapshot,
} from '../../core/ports/machine-driver.ts';
import { openAgentChannel } from '../../system/unix-sockets.ts';
import { wireEgress } from '../egress/wire-egress.ts';
import type { ListedSnapshot } from '../protocol/messages.ts';
import { agentSocketsOf } from '../protocol/run-folder.ts';
import { HostCallFailed, type HostConnection } from './host-connection.ts';

export interface RemoteMachineOptions {
  readonly id: string;
  readonly size: SizeName;
  readonly runDir: string;
  /** The connection to the host process. Throws HostUnavailable while there is none. */
  readonly host: () => HostConnection;
}

/** A machine of the host process. Its agent is reached directly, so commands keep working while the host process is away. */
export class RemoteMachine implements Machine {
  readonly id: string;
  readonly size: SizeName;
  readonly exited: Promise<MachineExit>;
  readonly #options: RemoteMachineOptions;
  readonly #exit: (exit: MachineExit) => void;
  #destroyRequested = false;
  #isGone = false;

  constructor(options: RemoteMachineOptions) {
    this.id = options.id;
    this.size = options.size;
    this.#options = options;
    const { promise, resolve } = Promise.withResolvers<MachineExit>();
    this.exited = promise;
    this.#exit = resolve;
  }

  /** Called when the host process reports the end of the machine. Only the first call counts. */
  noteExit(exit: MachineExit): void {
    this.#isGone = true;
    this.#exit(this.#destroyRequested ? { requested: true, reason: 'destroyed' } : exit);
  }

  async openAgentChannel(signal?: AbortSignal): Promise<AgentChannel> {
    if (this.#destroyRequested || this.#isGone) throw new Error(`machine ${this.id} is gone`);
    return await openAgentChannel(agentSocketsOf(this.#options.runDir, this.id), signal);
  }

  async pause(): Promise<void> {
    await this.#options.host().call({ call: 'pause', machine: this.id });
  }

  async resume(): Promise<void> {
    await this.#options.host().call({ call: 'resume', machine: this.id });
  }

  async setEgress(policy: EgressPolicy): Promise<void> {
    await this.#options.host().call({ call: 'set_egress', machine: this.id, egress: wireEgress(policy) });
  }

  async usage(): Promise<MachineUsage> {
    const used = await this.#options.host().call({ call: 'usage', machine: this.id });
    return { memoryBytes: used.memory_bytes, diskBytes: used.disk_bytes };
  }

  async save(snapshotId: string): Promise<SaveResult> {
    const call = { call: 'save', machine: this.id, snapshot: snapshotId } as const;
    try {
      const saved = await this.#options.host().call(call);
      return { snapshot: storedSnapshot(saved.snapshot), pausedMs: saved.paused_ms };
    } catch (error) {
      const isFull = error instanceof HostCallFailed && error.code === 'disk_full';
      throw isFull ? new HostFull(error.message, { cause: error }) : error;
    }
  }

  /** The host process keeps the machine when the connection ends. */
  detach(): void {}

  async destroy(): Promise<void> {
    this.#destroyRequested = true;
    await this.#options.host().call({ call: 'destroy', machine: this.id });
    this.noteExit({ requested: true, reason: 'destroyed' });
  }
}

/** A snapshot as the host process lists it. */
export function storedSnapshot({ snapshot, size, files }: ListedSnapshot): StoredSnapshot {
  return { id: snapshot, size, files };
}
