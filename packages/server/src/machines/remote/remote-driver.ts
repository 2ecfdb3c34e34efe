import { setTimeout as delay } from 'node:timers/promises';
import {
  type DriverDescription,
  HostFull,
  HostUnavailable,
  type LaunchRequest,
  type Machine,
  type MachineDriver,
  type MachineExit,
  SnapshotUnusable,
  type StoredSnapshot,
} from '../../core/ports/machine-driver.ts';
import type { Log } from '../../core/ports/runtime.ts';
import { Backoff } from '../../core/scheduling/backoff.ts';
import { withDeadline } from '../../core/scheduling/deadline.ts';
import { wireEgress } from '../egress/wire-egress.ts';
import type { FailureCode, MachinesPage } from '../protocol/messages.ts';
import { hostSocketPath } from '../protocol/run-folder.ts';
import { HostCallFailed, HostConnection, HostVersionMismatch } from './host-connection.ts';
import { RemoteMachine, storedSnapshot } from './remote-machine.ts';

export interface RemoteDriverOptions {
  /** The folder with the sockets of the host process and of the agents. */
  readonly runDir: string;
  readonly log: Log;
  /** How long to wait for the host process at the start: it adopts its machines before it listens. */
  readonly openMs?: number;
  /** How long the host process may send nothing before it counts as hanging; 30 s when absent. */
  readonly silenceMs?: number;
  readonly retryPauses?: { readonly firstMs: number; readonly longestMs: number };
  /** Called when a host process of another version took the place of the one before: only a restart of this process from the same code helps. */
  readonly onOtherVersion?: (error: HostVersionMismatch) => void;
}

export const defaultOpenMs = 120_000;
/** At the start, an absent host process is not worth a warning for this long. */
const quietStartMs = 10_000;
export const defaultRetryPauses = { firstMs: 50, longestMs: 2_000 };

const fullCodes: readonly FailureCode[] = ['too_many_machines', 'disk_full'];

type ListedMachine = MachinesPage['machines'][number];

const lostByHost: MachineExit = { requested: false, reason: 'the machine ended while its host process was restarting' };

/**
 * The machines of the host process. While that process is away, everything but the channels to the agents fails with HostUnavailable, and the
 * driver tries to connect again. Once it is back, machines that it no longer has are reported as exited, and those that nobody here knows are
 * destroyed.
 */
export class RemoteDriver implements MachineDriver {
  readonly #options: RemoteDriverOptions;
  readonly #stopped = new AbortController();
  readonly #machines = new Map<string, RemoteMachine>();
  readonly #connecting: Promise<void>;
  /** The first connection, or why there will be none. */
  readonly #first = Promise.withResolvers<DriverDescription>();
  #description: DriverDescription | undefined;
  #connection: HostConnection | undefined;
  #memoryLeftBytes = Number.POSITIVE_INFINITY;
  #hasAdopted = false;

  private constructor(options: RemoteDriverOptions) {
    this.#options = options;
    this.#first.promise.catch(() => {});
    this.#connecting = this.#keepConnected();
  }

  /** Connects to the host process and waits for it if it is not there yet. */
  static async open(options: RemoteDriverOptions): Promise<RemoteDriver> {
    const { openMs = defaultOpenMs } = options;
    const driver = new RemoteDriver(options);
    try {
      driver.#description = await withDeadline('connecting to the host process', openMs, driver.#first.promise);
      return driver;
    } catch (error) {
      await driver[Symbol.asyncDispose]();
      throw error;
    }
  }

  describe(): DriverDescription {
    if (this.#description === undefined) throw new HostUnavailable('the host process was never reached');
    return this.#description;
  }

  isAvailable(): boolean {
    return this.#connection !== undefined;
  }

  /** Infinite while the host process is away: an old value could make the service evict sandboxes for ever. */
  memoryLeftBytes(): number {
    return this.isAvailable() ? this.#memoryLeftBytes : Number.POSITIVE_INFINITY;
  }

  async launch({ id, size, snapshotId, egress = 'all', signal }: LaunchRequest): Promise<Machine> {
    const host = this.#host();
    const from = snapshotId === undefined ? {} : { snapshot: snapshotId };
    const call = { call: 'launch', machine: id, size, egress: wireEgress(egress), ...from } as const;
    if (this.#machines.has(id)) throw new HostCallFailed('machine_exists', `There is already a machine ${id}.`);
    const machine = this.#makeMachine({ machine: id, size });
    // Before the answer, because the host process may report the machine's exit at any time from now on.
    this.#machines.set(id, machine);
    try {
      await host.call(call, { signal });
      return machine;
    } catch (error) {
      this.#machines.delete(id);
      if (!(error instanceof HostCallFailed)) throw error;
      if (error.code === 'cancelled') signal?.throwIfAborted();
      if (error.code === 'unusable_snapshot') throw new SnapshotUnusable(error.message, { cause: error });
      throw fullCodes.includes(error.code) ? new HostFull(error.message, { cause: error }) : error;
    }
  }

  async adopt(): Promise<readonly Machine[]> {
    const host = this.#host();
    const running: RemoteMachine[] = [];
    const listed = await listMachines(host, (found) => {
      if (found.exit !== undefined) return;
      const machine = this.#makeMachine(found);
      this.#machines.set(machine.id, machine);
      running.push(machine);
    });
    this.#hasAdopted = true;
    await this.#destroyAll(
      host,
      listed.filter(({ exit }) => exit !== undefined),
    );
    return running;
  }

  async snapshots(): Promise<readonly StoredSnapshot[]> {
    const host = this.#host();
    const listed: StoredSnapshot[] = [];
    for (let more = true; more; ) {
      const after = listed.at(-1)?.id;
      const page = await host.call({ call: 'snapshots', ...(after !== undefined && { after }) });
      listed.push(...page.snapshots.map(storedSnapshot));
      more = page.more && page.snapshots.length > 0;
    }
    return listed;
  }

  async deleteSnapshot(id: string): Promise<void> {
    await this.#host().call({ call: 'delete_snapshot', snapshot: id });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort();
    await this.#connecting;
  }

  #host(): HostConnection {
    if (this.#connection === undefined) throw new HostUnavailable('the host process is not available');
    return this.#connection;
  }

  #makeMachine({ machine: id, size }: Pick<ListedMachine, 'machine' | 'size'>): RemoteMachine {
    return new RemoteMachine({ id, size, runDir: this.#options.runDir, host: () => this.#host() });
  }

  /** Connects again and again until disposed of. Never rejects. */
  async #keepConnected(): Promise<void> {
    const { log, retryPauses = defaultRetryPauses } = this.#options;
    const { signal } = this.#stopped;
    const backoff = new Backoff(retryPauses);
    const startedAtMs = performance.now();
    // The host process is started at the same time, and adopts its machines before it listens.
    const isStarting = () => this.#description === undefined && performance.now() - startedAtMs < quietStartMs;
    let isReported = false;
    while (!signal.aborted) {
      try {
        const connection = await this.#connect();
        isReported = false;
        const connectedAtMs = performance.now();
        const err = await connection.closed;
        this.#connection = undefined;
        if (!signal.aborted) log.warn({ err }, 'host_connection_lost');
        // A connection that ends at once must not be repeated at full speed.
        if (performance.now() - connectedAtMs > retryPauses.longestMs) backoff.reset();
      } catch (err) {
        if (err instanceof HostVersionMismatch) this.#refuseVersion(err);
        if (!isReported && !isStarting() && !signal.aborted) {
          log.warn({ err }, 'host_unavailable');
          isReported = true;
        }
      }
      await delay(backoff.nextMs(), undefined, { signal }).catch(() => {});
    }
  }

  /** At the start, opening fails. */
  #refuseVersion(err: HostVersionMismatch): void {
    this.#first.reject(err);
    if (this.#description !== undefined) this.#options.onOtherVersion?.(err);
  }

  /** A connection whose machines match the ones of this driver. */
  async #connect(): Promise<HostConnection> {
    const { runDir, silenceMs } = this.#options;
    const memory = (leftBytes: number): void => {
      this.#memoryLeftBytes = leftBytes;
    };
    const exited = (id: string, exit: MachineExit): void => this.#noteExit(id, exit);
    const socketPath = hostSocketPath(runDir);
    const { signal } = this.#stopped;
    const connection = await HostConnection.open({ socketPath, events: { memory, exited }, silenceMs, signal });
    try {
      signal.throwIfAborted();
      if (this.#hasAdopted) await this.#synchronise(connection);
    } catch (error) {
      connection.close();
      throw error;
    }
    this.#connection = connection;
    this.#description = connection.driver;
    this.#first.resolve(connection.driver);
    this.#options.log.info({ machines: this.#machines.size }, 'host_connected');
    return connection;
  }

  /** Learns what happened to the machines while there was no connection. */
  async #synchronise(connection: HostConnection): Promise<void> {
    const listed = new Map((await listMachines(connection)).map((found) => [found.machine, found]));
    const unknown = [...listed.values()].filter(({ machine }) => !this.#machines.has(machine));
    for (const id of [...this.#machines.keys()]) {
      const found = listed.get(id);
      if (found === undefined) this.#noteExit(id, lostByHost);
      else if (found.exit !== undefined) this.#noteExit(id, found.exit);
    }
    void this.#destroyAll(connection, unknown);
  }

  #noteExit(id: string, exit: MachineExit): void {
    this.#machines.get(id)?.noteExit(exit);
    this.#machines.delete(id);
  }

  /** Destroys machines that no sandbox can have. One that fails is left to the host process, or to the next connection. */
  async #destroyAll(host: HostConnection, machines: readonly ListedMachine[]): Promise<void> {
    if (machines.length === 0) return;
    this.#options.log.warn({ machines: machines.map(({ machine }) => machine) }, 'unused_machines_found');
    const destroy = async ({ machine }: ListedMachine): Promise<void> => {
      await host.call({ call: 'destroy', machine }).catch((err: unknown) => {
        this.#options.log.error({ machine_id: machine, err }, 'unused_machine_not_destroyed');
      });
    };
    await Promise.all(machines.map(destroy));
  }
}

/** All machines of the host process, page by page. `onListed` gets each of them before the next message is handled. */
async function listMachines(
  host: HostConnection,
  onListed: (found: ListedMachine) => void = () => {},
): Promise<ListedMachine[]> {
  const listed: ListedMachine[] = [];
  const onResult = ({ machines }: MachinesPage): void => machines.forEach(onListed);
  for (let more = true; more; ) {
    const after = listed.at(-1)?.machine;
    const page = await host.call({ call: 'list', ...(after !== undefined && { after }) }, { onResult });
    listed.push(...page.machines);
    more = page.more && page.machines.length > 0;
  }
  return listed;
}
