import { chmod, chown, constants, copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type SizeName, sizes } from '@mayfly/contract';
import { Holdings } from './holdings.ts';
import type { Cgroups } from './jail/cgroup/cgroups.ts';
import { machineLimits } from './jail/cgroup/limits.ts';
import type { UidLease, UidLeases } from './jail/uid-leases.ts';
import { type MachineLayout, machineLayout } from './layout.ts';
import { type MachineRecord, writeMachineRecord } from './machine-record.ts';
import type { MachineNetwork, NetworkPool } from './network/machine-network.ts';
import type { NetworkReserve } from './network/reserve.ts';
import type { StepRunner } from './steps.ts';

/** What one machine stands on besides its process. */
export interface Ground {
  readonly id: string;
  readonly size: SizeName;
  readonly layout: MachineLayout;
  readonly lease: UidLease;
  readonly network: MachineNetwork;
  /** The files by which a process joins the machine's cgroup. */
  readonly cgroupProcs: readonly string[];
}

export interface GroundsOptions {
  readonly machinesDir: string;
  readonly leases: UidLeases;
  readonly cgroups: Cgroups;
  readonly pool: NetworkPool;
  readonly reserve: NetworkReserve<UidLease>;
  readonly step: StepRunner;
}

/** Gives machines their user id, network, cgroup and folder. */
export class Grounds {
  readonly #options: GroundsOptions;

  constructor(options: GroundsOptions) {
    this.#options = options;
  }

  folderOf(id: string): string {
    return join(this.#options.machinesDir, id);
  }

  /** Everything a new machine stands on; whatever was taken of it is held, also when this fails. Fails when the id is taken. */
  async prepare(
    id: string,
    size: SizeName,
    emptyLayerPath: string,
    holdings: Holdings,
    step: StepRunner,
  ): Promise<Ground> {
    const { reserve, cgroups } = this.#options;
    const layout = machineLayout(this.folderOf(id));
    // Root's, so that a QEMU that broke out cannot put a link in the place of a socket or a log.
    await step('make folder', async () => {
      await mkdir(layout.folder, { mode: 0o711 });
      this.#holdFolder(id, holdings);
    });
    const ready = await reserve.take();
    holdings.takeFrom(ready.holdings);
    const { lease, network } = ready;
    this.#holdGroup(id, holdings);
    const { vcpu, memoryGb } = sizes[size];
    const cgroupProcs = await cgroups.create(id, machineLimits(vcpu, memoryGb * 1024 ** 3));
    await step('write record', () => writeMachineRecord(layout.recordPath, { id, size, lease }));
    this.#holdDisk(layout, holdings);
    await step('copy disk', () => copyFile(emptyLayerPath, layout.diskPath, constants.COPYFILE_FICLONE));
    await step('hand disk over', async () => {
      await chmod(layout.diskPath, 0o600);
      await chown(layout.diskPath, lease.uid, lease.gid);
    });
    return { id, size, layout, lease, network, cgroupProcs };
  }

  /** Holds all that a machine of an earlier service stands on, and takes its network over. When that fails, all is held nonetheless. */
  async adopt({ id, size, lease }: MachineRecord, holdings: Holdings): Promise<Omit<Ground, 'cgroupProcs'>> {
    const { leases, pool, step } = this.#options;
    const layout = machineLayout(this.folderOf(id));
    this.#holdFolder(id, holdings);
    holdings.hold('give uid back', () => leases.release(lease));
    const networkHoldings = new Holdings(step);
    holdings.hold('release network', () => networkHoldings.release());
    this.#holdGroup(id, holdings);
    this.#holdDisk(layout, holdings);
    const network = await pool.adopt(lease.slot, networkHoldings);
    return { id, size, layout, lease, network };
  }

  /** Holds what a machine that is gone may have left; its network and user id go with the sweeps. */
  holdStray(id: string, holdings: Holdings): void {
    this.#holdFolder(id, holdings);
    this.#holdGroup(id, holdings);
  }

  #holdFolder(id: string, holdings: Holdings): void {
    holdings.hold('remove folder', () => rm(this.folderOf(id), { recursive: true, force: true }));
  }

  #holdGroup(id: string, holdings: Holdings): void {
    holdings.hold('remove cgroup', () => this.#options.cgroups.remove(id));
  }

  /** The disk is the uid's, so it goes before the uid is given back. */
  #holdDisk({ diskPath }: MachineLayout, holdings: Holdings): void {
    holdings.hold('remove disk', () => rm(diskPath, { force: true }));
  }
}
