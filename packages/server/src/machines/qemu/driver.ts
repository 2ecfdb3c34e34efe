import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { SizeName } from '@mayfly/contract';
import type { Log } from '../../core/ports/log.ts';
import type { DriverCapabilities, LaunchRequest, MachineDriver } from '../../core/ports/machine-driver.ts';
import { type AdoptionParts, adoptMachines } from './adopt.ts';
import { Grounds } from './grounds.ts';
import type { QemuEngine } from './host/engine.ts';
import { Cgroups } from './jail/cgroup/cgroups.ts';
import { detectCgroups } from './jail/cgroup/layout.ts';
import { type UidLease, UidLeases } from './jail/uid-leases.ts';
import { QemuMachine } from './machine.ts';
import { NamespacePool } from './network/pool.ts';
import { NetworkReserve } from './network/reserve.ts';
import { restoreTemplate } from './restore.ts';
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
}

interface DriverParts extends AdoptionParts {
  readonly reserve: NetworkReserve<UidLease>;
}

/** Real virtual machines: one jailed QEMU process each, restored copy-on-write from its size's template. */
export class QemuDriver implements MachineDriver {
  readonly #options: QemuDriverOptions;
  readonly #parts: DriverParts;

  private constructor(options: QemuDriverOptions, parts: DriverParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Finds out what the host can do and sets its network up. One driver per data folder at a time. */
  static async open(options: QemuDriverOptions): Promise<QemuDriver> {
    const { dataDir, log, tools, networksAhead = 2 } = options;
    const machinesDir = join(dataDir, 'machines');
    // Machines of foreign user ids go through it to their own folders.
    await mkdir(machinesDir, { recursive: true, mode: 0o711 });
    const layout = await detectCgroups();
    if (layout.missing.length > 0) log.warn({ missing: layout.missing }, 'cgroup_limits_missing');
    const cgroups = new Cgroups(layout, createHash('sha256').update(dataDir).digest('hex').slice(0, 12));
    const leases = new UidLeases();
    const pool = await NamespacePool.open({
      owner: dataDir,
      helperPath: tools.netPath,
      log,
      ...(options.resolvConfPath ? { resolvConfPath: options.resolvConfPath } : {}),
    });
    for (const problem of pool.problems) log.warn({ ...problem }, 'network_problem');
    const ahead = join(machinesDir, '.ahead');
    const slots = { take: async () => leases.acquire(ahead), give: (lease: UidLease) => leases.release(lease) };
    const reserve = new NetworkReserve(pool, slots, networksAhead, log);
    const grounds = new Grounds({ machinesDir, leases, cgroups, reserve });
    return new QemuDriver(options, { machinesDir, grounds, cgroups, leases, pool, log, reserve });
  }

  capabilities(): DriverCapabilities {
    const { acceleration } = this.#options.engine;
    return { engine: 'qemu', acceleration, pause: true, snapshot: false, adopt: true, network: true };
  }

  async adopt(): Promise<QemuMachine[]> {
    const machines = await adoptMachines(this.#parts);
    void this.#parts.reserve.fill();
    return machines;
  }

  async launch({ id, size, egress, signal }: LaunchRequest): Promise<QemuMachine> {
    if (!/^[a-z0-9_-]{1,64}$/.test(id)) throw new Error(`not a machine id: ${JSON.stringify(id)}`);
    signal?.throwIfAborted();
    const { engine, templates, tools } = this.#options;
    const { grounds } = this.#parts;
    const ground = await grounds.prepare(id, size, templates[size].emptyLayerPath);
    try {
      if (egress && egress !== 'all') await ground.network.setEgress(egress);
      const restored = await restoreTemplate(engine, tools.jailPath, templates[size], ground, signal);
      return new QemuMachine({ ...restored, ground }, grounds);
    } catch (error) {
      await grounds.clear(ground);
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#parts.reserve.close();
    await this.#parts.pool.close();
    await this.#parts.cgroups.removeEmptyParents();
  }
}
