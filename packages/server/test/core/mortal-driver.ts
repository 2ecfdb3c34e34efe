import type { DriverCapabilities, LaunchRequest, Machine, MachineDriver } from '../../src/core/ports/machine-driver.ts';
import type { StubDriver, StubMachine } from './stub-driver.ts';

/** The machines of a host as one process sees them: once it is dead it can do nothing to them, and they live on. */
export class MortalDriver implements MachineDriver {
  readonly #host: StubDriver;
  readonly #isDead: () => boolean;
  readonly #onDestroy: () => void;

  /** `onDestroy` happens while a machine is being ended. */
  constructor(host: StubDriver, isDead: () => boolean, onDestroy: () => void) {
    this.#host = host;
    this.#isDead = isDead;
    this.#onDestroy = onDestroy;
  }

  async launch(request: LaunchRequest): Promise<Machine> {
    this.#requireLife();
    return this.#seen(await this.#host.launch(request));
  }

  async adopt(): Promise<readonly Machine[]> {
    return (await this.#host.adopt()).map((machine) => this.#seen(machine));
  }

  capabilities(): DriverCapabilities {
    return this.#host.capabilities();
  }

  async close(): Promise<void> {}

  #seen(machine: StubMachine): Machine {
    const { id, size, exited } = machine;
    return {
      id,
      size,
      exited,
      openAgentChannel: () => machine.openAgentChannel(),
      leave: () => machine.leave(),
      setEgress: () => machine.setEgress(),
      pause: () => machine.pause(),
      resume: () => machine.resume(),
      destroy: async () => {
        this.#requireLife();
        this.#onDestroy();
        await machine.destroy();
      },
    };
  }

  #requireLife(): void {
    if (this.#isDead()) throw new Error('the process is dead');
  }
}
