import type {
  DriverDescription,
  LaunchRequest,
  Machine,
  MachineDriver,
  StoredSnapshot,
} from '../../src/core/ports/machine-driver.ts';
import type { StubDriver, StubMachine } from './stub-driver.ts';

/** The machines of a host as seen by one process. After that process crashed, it can no longer change them, and they keep running. */
export class CrashableDriver implements MachineDriver {
  readonly #host: StubDriver;
  readonly #hasCrashed: () => boolean;
  readonly #onDestroy: () => void;

  /** `onDestroy` is called while a machine is being destroyed. */
  constructor(host: StubDriver, hasCrashed: () => boolean, onDestroy: () => void) {
    this.#host = host;
    this.#hasCrashed = hasCrashed;
    this.#onDestroy = onDestroy;
  }

  async launch(request: LaunchRequest): Promise<Machine> {
    this.#throwIfCrashed();
    return this.#wrap(await this.#host.launch(request));
  }

  async adopt(): Promise<readonly Machine[]> {
    return (await this.#host.adopt()).map((machine) => this.#wrap(machine));
  }

  describe(): DriverDescription {
    return this.#host.describe();
  }

  snapshots(): Promise<readonly StoredSnapshot[]> {
    return this.#host.snapshots();
  }

  async deleteSnapshot(id: string): Promise<void> {
    this.#throwIfCrashed();
    await this.#host.deleteSnapshot(id);
  }

  isAvailable(): boolean {
    return this.#host.isAvailable();
  }

  memoryLeftBytes(): number {
    return this.#host.memoryLeftBytes();
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #wrap(machine: StubMachine): Machine {
    const { id, size, exited } = machine;
    return {
      id,
      size,
      exited,
      openAgentChannel: () => machine.openAgentChannel(),
      usage: () => machine.usage(),
      save: async (snapshotId) => {
        this.#throwIfCrashed();
        return await machine.save(snapshotId);
      },
      detach: () => machine.detach(),
      setEgress: () => machine.setEgress(),
      pause: () => machine.pause(),
      resume: () => machine.resume(),
      destroy: async () => {
        this.#throwIfCrashed();
        this.#onDestroy();
        await machine.destroy();
      },
    };
  }

  #throwIfCrashed(): void {
    if (this.#hasCrashed()) throw new Error('the process has crashed');
  }
}
