import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { SizeName } from '@mayfly/contract';
import {
  type DriverDescription,
  type LaunchRequest,
  type MachineDriver,
  machineIdPattern,
  SnapshotUnusable,
  type StoredSnapshot,
} from '../../core/ports/machine-driver.ts';
import type { Log } from '../../core/ports/runtime.ts';
import { runFolderOf } from '../protocol/run-folder.ts';
import { type AdoptionParts, adoptMachines } from './adopt.ts';
import { AgentSockets } from './agent-sockets.ts';
import { type DiskRates, defaultDiskRates } from './argv.ts';
import type { QemuEngine } from './engine.ts';
import { HostResources, type LaunchOrigin } from './host-resources.ts';
import { detectCgroups } from './jail/cgroup-layout.ts';
import { Cgroups, errorCode } from './jail/cgroups.ts';
import { ProcessKiller } from './jail/process-killer.ts';
import { type UidLease, UidLeases } from './jail/uid-leases.ts';
import { LogTrimmer } from './log-trimmer.ts';
import { QemuMachine } from './machine.ts';
import { machineLayout, readMachineRecord, refuseNewerRecords } from './machine-folder.ts';
import { MachineNetworks } from './network/machine-networks.ts';
import { NetworkPool } from './network/network-pool.ts';
import { NetworkRecords } from './network/network-records.ts';
import { hostStateDir } from './network/plan/address-plan.ts';
import { resolverUsers } from './network/resolver/resolver-users.ts';
import type { NetworkLimits } from './network/rules/machine-ruleset.ts';
import { instanceOf, OwnerRecords, processesInstance } from './owners/owner-records.ts';
import { type ReclaimParts, reclaimVanishedOwners } from './owners/vanished-owners.ts';
import { CleanupRetrier, ReleaseStack } from './release-stack.ts';
import { restoreMachine } from './restore.ts';
import { Bases } from './snapshots/bases.ts';
import { engineFor, explainFailedLoad, requirementsOf } from './snapshots/compatibility.ts';
import { linkRestoreFiles } from './snapshots/restore-files.ts';
import { MachineSaver } from './snapshots/save.ts';
import { type MachineRequirements, type OpenedSnapshot, SnapshotFolders } from './snapshots/snapshot-folder.ts';
import { runStep, type StepRunner, stepsUntil } from './steps.ts';
import type { Template } from './template/template.ts';

/** Paths of Mayfly's own programs for the host. */
export interface HostTools {
  /** native/jail. */
  readonly jailPath: string;
  /** native/net. */
  readonly netPath: string;
  /** native/ram. */
  readonly ramPath: string;
}

export interface QemuDriverOptions {
  readonly engine: QemuEngine;
  readonly templates: Readonly<Record<SizeName, Template>>;
  readonly tools: HostTools;
  /** The data folder; it tells this host process from the others on the host. */
  readonly dataDir: string;
  readonly log: Log;
  /** The group of the service, which may open the agent ports of machines; root's when absent. */
  readonly serviceGid?: number;
  /** How fast each machine may use its disk. */
  readonly diskRates?: DiskRates;
  /** What saves leave of the data folder's file system; nothing when absent. */
  readonly diskReserveBytes?: number;
  /** The most layers of a disk or of RAM. */
  readonly maxSnapshotLayers?: number;
  /** The most memory that all machines may use together; unlimited when absent. */
  readonly memoryBytes?: number;
  /** The number of networks kept ready in advance. */
  readonly networksAhead?: number;
  /** Lists the host's DNS servers; /etc/resolv.conf when absent. */
  readonly resolvConfPath?: string;
  /** IPv4 ranges that no machine may reach, besides those that are always refused. */
  readonly refusedRanges?: readonly string[];
  readonly networkLimits?: NetworkLimits;
  /** How often the sizes of the machines' logs are checked. */
  readonly logCheckMs?: number;
  readonly cleanupRetryMs?: number;
  /** Runs every step of a machine's life. */
  readonly step?: StepRunner;
}

interface DriverParts extends AdoptionParts, ReclaimParts {
  readonly networks: MachineNetworks;
  readonly leases: UidLeases;
  readonly resources: HostResources;
  readonly networkPool: NetworkPool<UidLease>;
  readonly logTrimmer: LogTrimmer;
  readonly cgroups: Cgroups;
  readonly bases: Bases;
  readonly snapshots: SnapshotFolders;
  readonly saver: MachineSaver;
  /** Releases what the driver itself acquired. */
  readonly acquired: AsyncDisposableStack;
}

/** Real virtual machines: each is one jailed QEMU process, restored copy-on-write from the template of its size or from a snapshot. */
export class QemuDriver implements MachineDriver {
  readonly #options: QemuDriverOptions;
  readonly #parts: DriverParts;
  /** The machines that run, of which some may be being saved. */
  readonly #machines = new Set<QemuMachine>();

  private constructor(options: QemuDriverOptions, parts: DriverParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /**
   * Detects what the host can do and sets up its network. Only one driver may be open per data folder. Throws NewerMachineRecord before
   * it changes anything.
   */
  static async open(options: QemuDriverOptions): Promise<QemuDriver> {
    const { dataDir, log, tools, networksAhead: size = 2, step = runStep } = options;
    const machinesDir = join(dataDir, 'machines');
    // Each QEMU passes through this folder to its own one, under a uid that may not list it.
    await mkdir(machinesDir, { recursive: true, mode: 0o711 });
    await refuseNewerRecords(machinesDir);
    const layout = await detectCgroups();
    if (layout.missing.length > 0) log.warn({ missing: layout.missing }, 'cgroup_limits_missing');
    await using acquired = new AsyncDisposableStack();
    const killer = new ProcessKiller(tools.jailPath);
    const owners = new OwnerRecords(hostStateDir);
    const cgroupsOf = (folder: string): Cgroups => new Cgroups(layout, instanceOf(folder), { killer, step });
    const processGroups = new Cgroups(layout, processesInstance, { killer, step });
    const { memoryBytes } = options;
    const cgroups = new Cgroups(layout, instanceOf(dataDir), { killer, step, memoryBytes });
    await owners.register(dataDir);
    acquired.defer(async () => {
      await cgroups.removeEmptyParents();
      if (await hasNothing(dataDir, cgroups)) await owners.remove(dataDir);
    });
    if (!(await cgroups.limitAll())) log.warn({ memory_bytes: memoryBytes }, 'machines_memory_above_limit');
    const leases = acquired.use(new UidLeases(dataDir));
    const resolverLeases = acquired.use(new UidLeases(dataDir, resolverUsers));
    const resolverLease = resolverLeases.acquire();
    acquired.defer(async () => resolverLeases.release(resolverLease));
    const networks = acquired.use(
      await MachineNetworks.open({
        owner: dataDir,
        helperPath: tools.netPath,
        jailPath: tools.jailPath,
        resolverUid: resolverLease.uid,
        log,
        step,
        ...(options.resolvConfPath ? { resolvConfPath: options.resolvConfPath } : {}),
        ...(options.refusedRanges ? { refusedRanges: options.refusedRanges } : {}),
        ...(options.networkLimits ? { limits: options.networkLimits } : {}),
      }),
    );
    const cleanup = acquired.use(new CleanupRetrier(log, options.cleanupRetryMs));
    const networkPool = acquired.use(
      new NetworkPool<UidLease>({
        networks,
        leases: { acquire: async () => leases.acquire(), release: async (lease) => leases.release(lease) },
        size,
        log,
        step,
        discard: (releases) => cleanup.release(releases),
      }),
    );
    const agentSockets = await AgentSockets.open({ runDir: runFolderOf(dataDir), gid: options.serviceGid ?? 0 });
    const resources = new HostResources({ machinesDir, leases, cgroups, networks, networkPool, agentSockets, step });
    const logTrimmer = acquired.use(new LogTrimmer(log, options.logCheckMs));
    const snapshots = new SnapshotFolders(join(dataDir, 'snapshots'));
    await snapshots.open(log);
    const { engine, templates, diskReserveBytes = 0 } = options;
    const { ramPath } = tools;
    const bases = await Bases.open({ folder: join(dataDir, 'bases'), templates, ramPath, log });
    await bases.removeUnused(await basesInUse(machinesDir));
    const { maxSnapshotLayers: maxLayers } = options;
    const saver = new MachineSaver({
      ...{ engine, bases, snapshots, cgroups, ramPath, dataDir, diskReserveBytes, step },
      ...(maxLayers && { maxLayers }),
    });
    const adoption = {
      dataDir,
      owners,
      cgroupsOf,
      processGroups,
      machinesDir,
      resources,
      cgroups,
      leases,
      networks,
      agentSockets,
      killer,
      cleanup,
      saver,
      log,
      step,
    };
    const parts = { ...adoption, networkPool, logTrimmer, bases, snapshots };
    return new QemuDriver(options, { ...parts, acquired: acquired.move() });
  }

  describe(): DriverDescription {
    return { engine: 'qemu', acceleration: this.#options.engine.acceleration };
  }

  async adopt(): Promise<QemuMachine[]> {
    const machines = await adoptMachines(this.#parts);
    for (const machine of machines) this.#watch(machine);
    void this.#parts.networkPool.fill();
    await reclaimVanishedOwners(this.#parts);
    return machines;
  }

  #watch(machine: QemuMachine): void {
    this.#parts.logTrimmer.watch(machine);
    this.#machines.add(machine);
    void machine.exited.then(() => this.#machines.delete(machine));
  }

  /** What a new machine is launched from, and the engine that can run it. */
  async #originOf(
    size: SizeName,
    snapshotId: string | undefined,
  ): Promise<{
    readonly engine: QemuEngine;
    readonly origin: LaunchOrigin;
    /** The size whose virtual hardware was saved. */
    readonly hardware: SizeName;
    /** Why the state could not be loaded, for the caller who asked for the machine. */
    readonly explainLoad: (error: unknown) => unknown;
  }> {
    const { engine } = this.#options;
    const { key, files } = this.#parts.bases.ofSize(size);
    if (snapshotId === undefined) {
      const hardware = this.#options.templates[size].manifest.size;
      const requirements = requirementsOf(engine, hardware);
      return { engine, origin: { base: key, files, requirements }, hardware, explainLoad: (error) => error };
    }
    const snapshot = await this.#parts.snapshots.read(snapshotId);
    if (snapshot.manifest.size !== size) {
      throw new SnapshotUnusable(
        `The snapshot ${snapshotId} has the size ${snapshot.manifest.size}, and cannot become a sandbox of the size ${size}.`,
      );
    }
    const fitting = engineFor(snapshot.manifest, engine);
    return {
      engine: fitting,
      origin: originOf(snapshot, requirementsOf(fitting, size)),
      hardware: size,
      explainLoad: (error) => explainFailedLoad(error, snapshot.manifest, engine),
    };
  }

  async launch({ id, size, snapshotId, egress, signal }: LaunchRequest): Promise<QemuMachine> {
    if (!machineIdPattern.test(id)) throw new Error(`not a machine id: ${JSON.stringify(id)}`);
    const { tools, diskRates = defaultDiskRates } = this.#options;
    const { resources: host, cleanup, saver } = this.#parts;
    const { engine, origin, hardware, explainLoad } = await this.#originOf(size, snapshotId);
    const step = stepsUntil(signal, this.#parts.step);
    const releases = new ReleaseStack(this.#parts.step);
    try {
      const resources = await host.allocate(id, size, origin, releases, step);
      if (egress && egress !== 'all') await step('set egress', () => resources.network.setEgress(egress));
      const explain = (error: unknown): unknown => (signal?.aborted === true ? error : explainLoad(error));
      const { jailPath } = tools;
      const tooling = { engine, hardware, jailPath, diskRates, host, releases, explainLoad: explain, step };
      const restored = await restoreMachine(tooling, resources);
      signal?.throwIfAborted();
      const { cgroups, step: plainStep } = this.#parts;
      const { base, requirements } = resources;
      const parts = { ...restored, resources, releases, cgroups, base, requirements, saver, step: plainStep };
      const machine = new QemuMachine(parts);
      this.#watch(machine);
      return machine;
    } catch (error) {
      await cleanup.release(releases);
      throw error;
    }
  }

  snapshots(): Promise<readonly StoredSnapshot[]> {
    return this.#parts.snapshots.list();
  }

  deleteSnapshot(id: string): Promise<void> {
    return this.#parts.snapshots.delete(id);
  }

  isAvailable(): boolean {
    return true;
  }

  memoryLeftBytes(): number {
    return this.#parts.cgroups.memoryLeftBytes();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#machines].map((machine) => machine.endSave()));
    await this.#parts.acquired.disposeAsync();
  }
}

/** The snapshot's files as the origin of a machine. Throws SnapshotUnusable when the snapshot is deleted meanwhile. */
function originOf({ manifest, files }: OpenedSnapshot, requirements: MachineRequirements): LaunchOrigin {
  return {
    requirements,
    link: async (folder) =>
      await linkRestoreFiles(files, folder).catch((cause: unknown) => {
        if (errorCode(cause) !== 'ENOENT') throw cause;
        throw new SnapshotUnusable(`There is no snapshot ${manifest.id} on this host.`, { cause });
      }),
  };
}

/** The bases that machines were launched from. */
async function basesInUse(machinesDir: string): Promise<Set<string>> {
  const ids = await readdir(machinesDir);
  const records = await Promise.all(
    ids.map((id) => readMachineRecord(machineLayout(join(machinesDir, id)).recordPath)),
  );
  return new Set(records.flatMap((record) => record?.base ?? []));
}

/** Whether neither a cgroup nor a network of a data folder is left on the host. */
async function hasNothing(dataDir: string, cgroups: Cgroups): Promise<boolean> {
  const slots = await new NetworkRecords(hostStateDir).slotsOf(dataDir);
  return slots.length === 0 && (await cgroups.list()).length === 0;
}
