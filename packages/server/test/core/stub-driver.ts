import {
  type AgentChannel,
  type DriverDescription,
  type EgressPolicy,
  type LaunchRequest,
  type Machine,
  type MachineDriver,
  type MachineExit,
  type MachineUsage,
  type SaveResult,
  SnapshotUnusable,
  type StoredSnapshot,
} from '../../src/core/ports/machine-driver.ts';

/** A machine without a process. */
export class StubMachine implements Machine {
  readonly id: string;
  /** The snapshot it was launched from. */
  readonly snapshotId: string | undefined;
  readonly size: LaunchRequest['size'];
  readonly exited: Promise<MachineExit>;
  destroyed = false;
  dead = false;
  paused = false;
  /** The policies that were set, oldest first. */
  readonly policies: EgressPolicy[] = [];
  /** What it holds of the host. */
  used: MachineUsage = { memoryBytes: 0, diskBytes: 0 };
  /** Makes every resume fail. */
  resumeError: Error | undefined;
  /** Runs before the machine counts as destroyed; a test makes it reject or hang. */
  beforeDestroyed: () => Promise<void> = async () => {};
  /** Runs before a snapshot is stored; a test makes it reject or hang. */
  beforeSaved: (snapshotId: string) => Promise<void> = async () => {};
  readonly #stored: Map<string, StoredSnapshot>;
  readonly #exit: (exit: MachineExit) => void;

  constructor({ id, size, snapshotId }: LaunchRequest, stored = new Map<string, StoredSnapshot>()) {
    this.id = id;
    this.size = size;
    this.snapshotId = snapshotId;
    this.#stored = stored;
    const { promise, resolve } = Promise.withResolvers<MachineExit>();
    this.exited = promise;
    this.#exit = resolve;
  }

  /** Exits without having been asked to. */
  die(reason: string): void {
    this.dead = true;
    this.#exit({ requested: false, reason });
  }

  async destroy(): Promise<void> {
    await this.beforeDestroyed();
    this.destroyed = true;
    this.#exit({ requested: true, reason: 'destroyed' });
  }

  openAgentChannel(): Promise<AgentChannel> {
    return Promise.reject(new Error('a stub has no channel'));
  }

  detach(): void {}
  async usage(): Promise<MachineUsage> {
    return this.used;
  }
  async setEgress(policy?: EgressPolicy): Promise<void> {
    if (policy !== undefined) this.policies.push(policy);
  }

  async save(snapshotId: string): Promise<SaveResult> {
    await this.beforeSaved(snapshotId);
    const snapshot = {
      id: snapshotId,
      size: this.size,
      files: [{ id: `file-of-${snapshotId}`, bytes: stubFileBytes }],
    };
    this.#stored.set(snapshotId, snapshot);
    return { snapshot, pausedMs: 1 };
  }

  async pause(): Promise<void> {
    this.paused = true;
  }

  async resume(): Promise<void> {
    if (this.resumeError !== undefined) throw this.resumeError;
    this.paused = false;
  }
}

/** What the only file of a stub's snapshot takes on disk. */
export const stubFileBytes = 4_096;

/** A driver whose launches are controlled by a test. */
export class StubDriver implements MachineDriver {
  readonly machines: StubMachine[] = [];
  /** The snapshots on disk, by id. */
  readonly stored = new Map<string, StoredSnapshot>();
  memoryLeft = Number.POSITIVE_INFINITY;
  /** False as if the process that runs the machines could not be reached. */
  available = true;
  /** Runs before a launch succeeds; a test makes it reject or hang. */
  beforeLaunched: (request: LaunchRequest) => Promise<void> = async () => {};

  async launch(request: LaunchRequest): Promise<StubMachine> {
    await this.beforeLaunched(request);
    const { snapshotId } = request;
    if (snapshotId !== undefined && !this.stored.has(snapshotId)) {
      throw new SnapshotUnusable(`There is no snapshot ${snapshotId} on this host.`);
    }
    const machine = new StubMachine(request, this.stored);
    this.machines.push(machine);
    return machine;
  }

  /** The machines that are alive, as if an earlier run had left them running. */
  async adopt(): Promise<StubMachine[]> {
    return this.machines.filter(({ destroyed, dead }) => !destroyed && !dead);
  }

  async snapshots(): Promise<StoredSnapshot[]> {
    return [...this.stored.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  async deleteSnapshot(id: string): Promise<void> {
    this.stored.delete(id);
  }

  isAvailable(): boolean {
    return this.available;
  }

  memoryLeftBytes(): number {
    return this.memoryLeft;
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** The newest machine. */
  get newest(): StubMachine {
    const machine = this.machines.at(-1);
    if (machine === undefined) throw new Error('nothing was launched');
    return machine;
  }

  describe(): DriverDescription {
    return { engine: 'stub', acceleration: 'none' };
  }
}
