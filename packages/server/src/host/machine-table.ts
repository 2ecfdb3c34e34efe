import { oneLine } from '../core/errors/api-error.ts';
import type { LaunchRequest, Machine, MachineDriver, MachineExit } from '../core/ports/machine-driver.ts';
import type { Log } from '../core/ports/runtime.ts';
import { type FailureCode, type MachinesPage, machinesPerPage } from '../machines/protocol/messages.ts';

/** A call that failed for a reason that the service can act on. */
export class CallFailed extends Error {
  override readonly name = 'CallFailed';
  readonly code: FailureCode;

  constructor(code: FailureCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

interface Entry {
  readonly machine: Machine;
  /** Set once the machine has exited on its own. Kept until the service has destroyed it, so that the service learns the reason. */
  exit?: MachineExit;
}

export interface MachineTableOptions {
  readonly driver: Pick<MachineDriver, 'launch' | 'adopt'>;
  readonly log: Log;
  /** How many machines may exist at once, those being launched and those that have exited included. */
  readonly maxMachines: number;
  /** Called when a machine has exited, for whatever reason. */
  readonly onExited: (id: string, exit: MachineExit) => void;
}

/** The machines of this host process, by id. The process keeps them while no service is connected. */
export class MachineTable {
  readonly #options: MachineTableOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #launching = new Set<string>();
  /** Machines that this process destroys itself: those that have exited, and those whose launch was cancelled. */
  readonly #unwanted = new Map<string, Machine>();

  constructor(options: MachineTableOptions) {
    this.#options = options;
  }

  /** Takes over the machines that an earlier host process left. Called once. */
  async adopt(): Promise<number> {
    const machines = await this.#options.driver.adopt();
    for (const machine of machines) this.#add(machine);
    return machines.length;
  }

  /** The machines after the given id, in the order of their ids, up to a page. */
  page(after = ''): MachinesPage {
    const ids = [...this.#entries.keys()].filter((id) => id > after).sort();
    const machines = ids.slice(0, machinesPerPage).map((id) => {
      const { machine, exit } = this.#entryOf(id);
      return { machine: id, size: machine.size, ...(exit && { exit }) };
    });
    return { machines, more: ids.length > machines.length };
  }

  /** Launches a machine. If the signal is aborted when it is ready, it is destroyed instead. */
  async launch(request: LaunchRequest & { readonly signal: AbortSignal }): Promise<void> {
    const { id, signal } = request;
    if (this.#entries.has(id) || this.#launching.has(id)) {
      throw new CallFailed('machine_exists', `There is already a machine ${id}.`);
    }
    if (this.#entries.size + this.#launching.size >= this.#options.maxMachines) {
      throw new CallFailed(
        'too_many_machines',
        `The host has ${this.#options.maxMachines} machines, which is its limit.`,
      );
    }
    this.#launching.add(id);
    try {
      const machine = await this.#options.driver.launch(request);
      if (signal.aborted) await this.#discard(machine);
      else this.#add(machine);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#launching.delete(id);
    }
    if (signal.aborted) throw new CallFailed('cancelled', `The launch of ${id} was cancelled.`);
  }

  /** A machine that exists and has not exited. */
  get(id: string): Machine {
    const { machine, exit } = this.#entryOf(id);
    if (exit) throw new CallFailed('unknown_machine', `The machine ${id} has exited.`);
    return machine;
  }

  /** Destroys a machine and forgets it. Does nothing if there is none. */
  async destroy(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    await entry.machine.destroy();
    if (this.#entries.get(id) === entry) this.#entries.delete(id);
    this.#unwanted.delete(id);
  }

  /**
   * Releases what unwanted machines hold of the host, whether or not a service is connected. Never rejects: what fails is logged, and the next
   * call tries again.
   */
  async cleanUp(): Promise<void> {
    await Promise.all(Array.from(this.#unwanted.values(), (machine) => this.#discard(machine)));
  }

  /** Lets go of all machines, which keep running. */
  detachAll(): void {
    for (const { machine } of this.#entries.values()) machine.detach();
  }

  async #discard(machine: Machine): Promise<void> {
    this.#unwanted.set(machine.id, machine);
    try {
      await machine.destroy();
      this.#unwanted.delete(machine.id);
    } catch (err) {
      this.#options.log.error({ machine_id: machine.id, err }, 'machine_cleanup_failed');
    }
  }

  #add(machine: Machine): void {
    const entry: Entry = { machine };
    this.#entries.set(machine.id, entry);
    void machine.exited.then(({ requested, reason, detail }) => {
      const exit = { requested, reason: oneLine(reason), ...(detail !== undefined && { detail: oneLine(detail) }) };
      if (!requested && this.#entries.get(machine.id) === entry) {
        entry.exit = exit;
        void this.#discard(machine);
      }
      this.#options.onExited(machine.id, exit);
    });
  }

  #entryOf(id: string): Entry {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new CallFailed('unknown_machine', `There is no machine ${id}.`);
    return entry;
  }
}
