import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { SizeName } from '@mayfly/contract';
import type { Log } from '../../core/ports/log.ts';
import type { DriverCapabilities, LaunchRequest, MachineDriver } from '../../core/ports/machine-driver.ts';
import { type AdoptionParts, adoptMachines } from './adopt.ts';
import { Debris } from './debris.ts';
import { Grounds } from './grounds.ts';
import { Holdings } from './holdings.ts';
import type { QemuEngine } from './host/engine.ts';
import { Cgroups } from './jail/cgroup/cgroups.ts';
import { detectCgroups } from './jail/cgroup/layout.ts';
import { type UidLease, UidLeases } from './jail/uid-leases.ts';
import { LogBounds } from './log-bounds.ts';
import { QemuMachine } from './machine.ts';
import { refuseNewerRecords } from './machine-record.ts';
import { NamespacePool } from './network/pool.ts';
import { NetworkReserve } from './network/reserve.ts';
import { restoreTemplate } from './restore.ts';
import { runStep, type StepRunner, stepsUntil } from './steps.ts';
import type { Template } from './template/manifest.ts';

/** Programs of our own that run on the host. */
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
  /** The data folder; it names this service among those of the host. */
  readonly dataDir: string;
  readonly log: Log;
  /** How many networks are kept made ahead of need. */
  readonly networksAhead?: number;
  /** Where the host's resolvers are named; /etc/resolv.conf when absent. */
  readonly resolvConfPath?: string;
  /** How often the machines' logs are looked at, in milliseconds. */
  readonly logLookMs?: number;
  /** How often a clean-up that failed is tried again, in milliseconds. */
  readonly cleanupRetryMs?: number;
  /** How every step of a machine's life is run. */
  readonly step?: StepRunner;
}

interface DriverParts extends AdoptionParts {
  readonly reserve: NetworkReserve<UidLease>;
  readonly logBounds: LogBounds;
}

/** Real virtual machines: one jailed QEMU process each, restored copy-on-write from its size's template. */
export class QemuDriver implements MachineDriver {
  readonly #options: QemuDriverOptions;
  readonly #parts: DriverParts;

  private constructor(options: QemuDriverOptions, parts: DriverParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Finds out what the host can do and sets its network up. One driver per data folder at a time. Fails with NewerMachineRecord before it touches anything. */
  static async open(options: QemuDriverOptions): Promise<QemuDriver> {
    const { dataDir, log, tools, networksAhead: size = 2, step = runStep } = options;
    const machinesDir = join(dataDir, 'machines');
    // Machines of foreign user ids go through it to their own folders.
    await mkdir(machinesDir, { recursive: true, mode: 0o711 });
    await refuseNewerRecords(machinesDir);
    const layout = await detectCgroups();
    if (layout.missing.length > 0) log.warn({ missing: layout.missing }, 'cgroup_limits_missing');
    const cgroups = new Cgroups(layout, createHash('sha256').update(dataDir).digest('hex').slice(0, 12), step);
    const leases = new UidLeases();
    const pool = await NamespacePool.open({
      owner: dataDir,
      helperPath: tools.netPath,
      log,
      step,
      ...(options.resolvConfPath ? { resolvConfPath: options.resolvConfPath } : {}),
    });
    for (const problem of pool.problems) log.warn({ ...problem }, 'network_problem');
    const ahead = join(machinesDir, '.ahead');
    const slots = { take: async () => leases.acquire(ahead), give: (lease: UidLease) => leases.release(lease) };
    const debris = new Debris(log, options.cleanupRetryMs);
    const discard = (holdings: Holdings) => debris.clear(holdings);
    const reserve = new NetworkReserve({ pool, leases: slots, size, log, step, discard });
    const grounds = new Grounds({ machinesDir, leases, cgroups, pool, reserve, step });
    const logBounds = new LogBounds(log, options.logLookMs);
    const parts = { machinesDir, grounds, cgroups, leases, pool, debris, log, step, reserve, logBounds };
    return new QemuDriver(options, parts);
  }

  capabilities(): DriverCapabilities {
    const { acceleration } = this.#options.engine;
    return { engine: 'qemu', acceleration, pause: true, snapshot: false, adopt: true, network: true };
  }

  async adopt(): Promise<QemuMachine[]> {
    const machines = await adoptMachines(this.#parts);
    for (const machine of machines) this.#parts.logBounds.watch(machine);
    void this.#parts.reserve.fill();
    return machines;
  }

  async launch({ id, size, egress, signal }: LaunchRequest): Promise<QemuMachine> {
    if (!/^[a-z0-9_-]{1,64}$/.test(id)) throw new Error(`not a machine id: ${JSON.stringify(id)}`);
    const { engine, templates, tools } = this.#options;
    const { grounds, debris, logBounds } = this.#parts;
    const step = stepsUntil(signal, this.#parts.step);
    const holdings = new Holdings(this.#parts.step);
    try {
      const ground = await grounds.prepare(id, size, templates[size].emptyLayerPath, holdings, step);
      if (egress && egress !== 'all') await step('set egress', () => ground.network.setEgress(egress));
      const restored = await restoreTemplate(
        { engine, jailPath: tools.jailPath, holdings, step },
        templates[size],
        ground,
      );
      signal?.throwIfAborted();
      const machine = new QemuMachine({ ...restored, ground, holdings, step: this.#parts.step });
      logBounds.watch(machine);
      return machine;
    } catch (error) {
      await debris.clear(holdings);
      throw error;
    }
  }

  async close(): Promise<void> {
    const { logBounds, reserve, debris, pool, cgroups } = this.#parts;
    await logBounds.close();
    await reserve.close();
    await debris.close();
    await pool.close();
    await cgroups.removeEmptyParents();
  }
}
