import { chmod, chown, constants, copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type SizeName, sizes } from '@mayfly/contract';
import type { Cgroups } from './jail/cgroup/cgroups.ts';
import { machineLimits } from './jail/cgroup/limits.ts';
import type { UidLease, UidLeases } from './jail/uid-leases.ts';
import { type MachineLayout, machineLayout } from './layout.ts';
import { writeMachineRecord } from './machine-record.ts';
import type { MachineNetwork } from './network/machine-network.ts';
import type { NetworkReserve } from './network/reserve.ts';

/** What one machine holds of the host besides its process. */
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
  readonly reserve: NetworkReserve<UidLease>;
}

/** Gives machines their user id, network, cgroup and folder, and takes all of it back. */
export class Grounds {
  readonly #options: GroundsOptions;

  constructor(options: GroundsOptions) {
    this.#options = options;
  }

  folderOf(id: string): string {
    return join(this.#options.machinesDir, id);
  }

  /** Everything a new machine stands on. Leaves nothing when it fails; fails when the id is taken. */
  async prepare(id: string, size: SizeName, emptyLayerPath: string): Promise<Ground> {
    const layout = machineLayout(this.folderOf(id));
    await using undo = new AsyncDisposableStack();
    // Root's, so that a QEMU that broke out cannot put a link in the place of a socket or a log.
    await mkdir(layout.folder, { mode: 0o711 });
    undo.defer(() => rm(layout.folder, { recursive: true, force: true }));
    const ready = await this.#options.reserve.take();
    undo.defer(() => this.#options.reserve.give(ready));
    const { vcpu, memoryGb } = sizes[size];
    const cgroupProcs = await this.#options.cgroups.create(id, machineLimits(vcpu, memoryGb * 1024 ** 3));
    undo.defer(() => this.#options.cgroups.remove(id));
    await writeMachineRecord(layout.recordPath, { id, size, lease: ready.lease });
    await copyFile(emptyLayerPath, layout.diskPath, constants.COPYFILE_FICLONE);
    await chmod(layout.diskPath, 0o600);
    await chown(layout.diskPath, ready.lease.uid, ready.lease.gid);
    undo.move();
    return { id, size, layout, lease: ready.lease, network: ready.network, cgroupProcs };
  }

  /** Takes everything back, once the machine's process is gone. May be called again after a failure. */
  async clear({ id, layout, lease, network }: Omit<Ground, 'cgroupProcs' | 'size'>): Promise<void> {
    await this.#options.cgroups.remove(id);
    await rm(layout.folder, { recursive: true, force: true });
    await network.release();
    await this.#options.leases.release(lease);
  }
}
