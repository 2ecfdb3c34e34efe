import { formatBytes } from '@mayfly/contract';
import { oneLine } from '../core/errors/api-error.ts';
import type {
  LaunchRequest,
  Machine,
  MachineDriver,
  MachineExit,
  SaveResult,
  StoredSnapshot,
} from '../core/ports/machine-driver.ts';
import type { Log } from '../core/ports/runtime.ts';
import { BackgroundTasks } from '../core/scheduling/background-tasks.ts';
import { withDeadline } from '../core/scheduling/deadline.ts';
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
  /** Set once the machine has exited. One that exited on its own is kept until the service has destroyed it, so that the service learns the reason. */
  exit?: MachineExit;
}

export interface MachineTableOptions {
  readonly driver: Pick<MachineDriver, 'launch' | 'adopt' | 'snapshots' | 'deleteSnapshot'>;
  readonly log: Log;
  /** How many machines may exist at once, those being launched and those that have exited included. */
  readonly maxMachines: number;
  /** Launches and saves are refused while the file system of the data folder has less than this left. */
  readonly diskReserveBytes: number;
  /** What that file system has left. */
  readonly diskFreeBytes: () => Promise<number>;
  /** How long one attempt of a cleanup may take. */
  readonly cleanupMs: number;
  /** Called when a machine has exited, for whatever reason. */
  readonly onExited: (id: string, exit: MachineExit) => void;
}

/** The machines of this host process, by id. The process keeps them while no service is connected. */
export class MachineTable {
  readonly #options: MachineTableOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #launching = new Set<string>();
  /** Machines that this process destroys itself: those that have exited, those whose launch was cancelled, and those that could not be destroyed. */
  readonly #unwanted = new Map<string, Machine>();
  readonly #cleanups = new BackgroundTasks();
  /** The machines whose cleanup is in progress. */
  readonly #cleaning = new Set<Machine>();

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
      await this.#requireDisk();
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

  /** Saves a machine as a snapshot. */
  async save(id: string, snapshotId: string): Promise<SaveResult> {
    const machine = this.get(id);
    await this.#requireDisk();
    return await machine.save(snapshotId);
  }

  snapshots(): Promise<readonly StoredSnapshot[]> {
    return this.#options.driver.snapshots();
  }

  deleteSnapshot(id: string): Promise<void> {
    return this.#options.driver.deleteSnapshot(id);
  }

  /** Destroys a machine and forgets it. Does nothing if there is none. When this fails, the cleanup tries again: perhaps no service will. */
  async destroy(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    try {
      await entry.machine.destroy();
    } catch (error) {
      this.#unwanted.set(id, entry.machine);
      throw error;
    }
    if (this.#entries.get(id) === entry) this.#entries.delete(id);
    this.#unwanted.delete(id);
  }

  /**
   * Starts to release what unwanted machines hold of the host, whether or not a service is connected. What fails or takes too long is logged, and
   * the next call tries again.
   */
  cleanUp(): void {
    for (const machine of this.#unwanted.values()) void this.#discard(machine);
  }

  /** Resolves when no cleanup is in progress. */
  idle(): Promise<void> {
    return this.#cleanups.idle();
  }

  /** Lets go of all machines, which keep running. What a machine holds when it exits later is left to the host process that adopts it. */
  detachAll(): void {
    for (const { machine } of this.#entries.values()) machine.detach();
    this.#entries.clear();
  }

  async #requireDisk(): Promise<void> {
    const { diskFreeBytes, diskReserveBytes } = this.#options;
    const freeBytes = await diskFreeBytes();
    if (freeBytes >= diskReserveBytes) return;
    const [free, reserve] = [freeBytes, diskReserveBytes].map(formatBytes);
    throw new CallFailed(
      'disk_full',
      `The file system of the data folder has ${free} left, which is less than its reserve of ${reserve}. Free space there.`,
    );
  }

  /** Destroys a machine that nobody wants, unless that is in progress. Never rejects. */
  async #discard(machine: Machine): Promise<void> {
    this.#unwanted.set(machine.id, machine);
    if (this.#cleaning.has(machine)) return;
    this.#cleaning.add(machine);
    try {
      await this.#cleanups.track(withDeadline('the cleanup', this.#options.cleanupMs, machine.destroy()));
      this.#unwanted.delete(machine.id);
      const entry = this.#entries.get(machine.id);
      const isAwaited = entry?.exit?.requested === false;
      if (entry?.machine === machine && !isAwaited) this.#entries.delete(machine.id);
    } catch (err) {
      this.#options.log.error({ machine_id: machine.id, err }, 'machine_cleanup_failed');
    } finally {
      this.#cleaning.delete(machine);
    }
  }

  #add(machine: Machine): void {
    const entry: Entry = { machine };
    this.#entries.set(machine.id, entry);
    void machine.exited.then(({ requested, reason, detail }) => {
      const exit = { requested, reason: oneLine(reason), ...(detail !== undefined && { detail: oneLine(detail) }) };
      entry.exit = exit;
      // What was requested is being destroyed, or that has failed and is tried again.
      if (!requested && this.#entries.get(machine.id) === entry) void this.#discard(machine);
      this.#options.onExited(machine.id, exit);
    });
  }

  #entryOf(id: string): Entry {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new CallFailed('unknown_machine', `There is no machine ${id}.`);
    return entry;
  }
}
