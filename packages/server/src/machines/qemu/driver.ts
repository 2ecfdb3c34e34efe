import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { SizeName } from '@mayfly/contract';
import {
  type DriverCapabilities,
  type LaunchRequest,
  type MachineDriver,
  machineIdPattern,
} from '../../core/ports/machine-driver.ts';
import type { Log } from '../../core/ports/runtime.ts';
import { processesInstance } from '../confinement/process-cgroup.ts';
import { runFolderOf } from '../protocol/run-folder.ts';
import { type AdoptionParts, adoptMachines } from './adopt.ts';
import { AgentSockets } from './agent-sockets.ts';
import { type DiskRates, defaultDiskRates } from './argv.ts';
import type { QemuEngine } from './engine.ts';
import { HostResources } from './host-resources.ts';
import { detectCgroups } from './jail/cgroup-layout.ts';
import { Cgroups } from './jail/cgroups.ts';
import { ProcessKiller } from './jail/process-killer.ts';
import { type UidLease, UidLeases } from './jail/uid-leases.ts';
import { LogTrimmer } from './log-trimmer.ts';
import { QemuMachine } from './machine.ts';
import { refuseNewerRecords } from './machine-folder.ts';
import { MachineNetworks } from './network/machine-networks.ts';
import { NetworkPool } from './network/network-pool.ts';
import { NetworkRecords } from './network/network-records.ts';
import { hostStateDir } from './network/plan/address-plan.ts';
import { resolverUsers } from './network/resolver/resolver-users.ts';
import type { NetworkLimits } from './network/rules/machine-ruleset.ts';
import { instanceOf, OwnerRecords } from './owners/owner-records.ts';
import { type ReclaimParts, reclaimVanishedOwners } from './owners/vanished-owners.ts';
import { CleanupRetrier, ReleaseStack } from './release-stack.ts';
import { restoreTemplate } from './restore.ts';
import { runStep, type StepRunner, stepsUntil } from './steps.ts';
import type { Template } from './template/template.ts';

/** Paths of Mayfly's own programs for the host. */
export interface HostTools {
  /** host/jail. */
  readonly jailPath: string;
  /** host/net. */
  readonly netPath: string;
}

export interface QemuDriverOptions {
  readonly engine: QemuEngine;
  readonly templates: Readonly<Record<SizeName, Template>>;
  readonly tools: HostTools;
  /** The data folder; it identifies this service among those of the host. */
  readonly dataDir: string;
  readonly log: Log;
  /** The group of the service, which may open the agent ports of machines; root's when absent. */
  readonly serviceGid?: number;
  /** How fast each machine may use its disk. */
  readonly diskRates?: DiskRates;
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
  /** Releases what the driver itself acquired. */
  readonly acquired: AsyncDisposableStack;
}

/** Real virtual machines: each is one jailed QEMU process, restored copy-on-write from the template of its size. */
export class QemuDriver implements MachineDriver {
  readonly #options: QemuDriverOptions;
  readonly #parts: DriverParts;

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
      log,
      step,
    };
    return new QemuDriver(options, { ...adoption, networkPool, logTrimmer, acquired: acquired.move() });
  }

  capabilities(): DriverCapabilities {
    const { acceleration } = this.#options.engine;
    return { engine: 'qemu', acceleration, pause: true, snapshot: false, adopt: true, network: true };
  }

  async adopt(): Promise<QemuMachine[]> {
    const machines = await adoptMachines(this.#parts);
    for (const machine of machines) this.#parts.logTrimmer.watch(machine);
    void this.#parts.networkPool.fill();
    await reclaimVanishedOwners(this.#parts);
    return machines;
  }

  async launch({ id, size, egress, signal }: LaunchRequest): Promise<QemuMachine> {
    if (!machineIdPattern.test(id)) throw new Error(`not a machine id: ${JSON.stringify(id)}`);
    const { engine, templates, tools, diskRates = defaultDiskRates } = this.#options;
    const { resources: host, cleanup, logTrimmer } = this.#parts;
    const template = templates[size];
    const step = stepsUntil(signal, this.#parts.step);
    const releases = new ReleaseStack(this.#parts.step);
    try {
      const resources = await host.allocate(id, size, template.emptyLayerPath, releases, step);
      if (egress && egress !== 'all') await step('set egress', () => resources.network.setEgress(egress));
      const tooling = { engine, jailPath: tools.jailPath, diskRates, host, releases, step };
      const restored = await restoreTemplate(tooling, template, resources);
      signal?.throwIfAborted();
      const { cgroups, step: plainStep } = this.#parts;
      const machine = new QemuMachine({ ...restored, resources, releases, cgroups, step: plainStep });
      logTrimmer.watch(machine);
      return machine;
    } catch (error) {
      await cleanup.release(releases);
      throw error;
    }
  }

  isAvailable(): boolean {
    return true;
  }

  memoryLeftBytes(): number {
    return this.#parts.cgroups.memoryLeftBytes();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.acquired.disposeAsync();
  }
}

/** Whether neither a cgroup nor a network of a data folder is left on the host. */
async function hasNothing(dataDir: string, cgroups: Cgroups): Promise<boolean> {
  const slots = await new NetworkRecords(hostStateDir).slotsOf(dataDir);
  return slots.length === 0 && (await cgroups.list()).length === 0;
}
