import { chmod, chown, constants, copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type SizeName, sizes } from '@mayfly/contract';
import type { AgentSockets } from './agent-sockets.ts';
import { machineLimits } from './jail/cgroup-limits.ts';
import type { Cgroups } from './jail/cgroups.ts';
import type { UidLease, UidLeases } from './jail/uid-leases.ts';
import { type MachineLayout, type MachineRecord, machineLayout, writeMachineRecord } from './machine-folder.ts';
import type { MachineNetwork, MachineNetworks } from './network/machine-networks.ts';
import type { NetworkPool } from './network/network-pool.ts';
import { ReleaseStack } from './release-stack.ts';
import { isOwnLayer } from './snapshots/disk-chain.ts';
import type { RestoreFiles } from './snapshots/restore-files.ts';
import type { MachineRequirements } from './snapshots/snapshot-folder.ts';
import type { StepRunner } from './steps.ts';

/** What one machine uses of the host besides its process. */
export interface MachineResources {
  readonly id: string;
  readonly size: SizeName;
  readonly layout: MachineLayout;
  readonly lease: UidLease;
  readonly network: MachineNetwork;
  /** A process joins the machine's cgroup by writing its pid to these files. */
  readonly cgroupProcs: readonly string[];
}

/** What a new machine is launched from: the base of a template, or a snapshot whose files are linked into its folder. */
export type LaunchOrigin = { readonly requirements: MachineRequirements } & (
  | { readonly base: string; readonly files: RestoreFiles }
  | { readonly base?: undefined; readonly link: (folder: string) => Promise<RestoreFiles> }
);

/** The resources of a machine that is being launched. */
export interface LaunchResources extends MachineResources {
  readonly files: RestoreFiles;
  readonly base: string | undefined;
  /** What a copy of it needs. */
  readonly requirements: MachineRequirements;
}

export interface HostResourcesOptions {
  readonly machinesDir: string;
  readonly leases: UidLeases;
  readonly cgroups: Cgroups;
  readonly networks: MachineNetworks;
  readonly networkPool: NetworkPool<UidLease>;
  readonly agentSockets: Pick<AgentSockets, 'share' | 'remove'>;
  readonly step: StepRunner;
}

/** Allocates a user id, network, cgroup and folder for each machine. */
export class HostResources {
  readonly #options: HostResourcesOptions;

  constructor(options: HostResourcesOptions) {
    this.#options = options;
  }

  folderOf(id: string): string {
    return join(this.#options.machinesDir, id);
  }

  /** Allocates everything a new machine needs. Whatever was allocated is on the stack, also when this fails. Fails when the id is in use. */
  async allocate(
    id: string,
    size: SizeName,
    origin: LaunchOrigin,
    releases: ReleaseStack,
    step: StepRunner,
  ): Promise<LaunchResources> {
    const { networkPool, cgroups } = this.#options;
    const layout = machineLayout(this.folderOf(id));
    // Owned by root, so that a QEMU that broke out cannot replace a socket or a log with a link.
    await step('make folder', async () => {
      await mkdir(layout.folder, { mode: 0o711 });
      this.#pushFolder(id, releases);
    });
    this.#pushAgentSockets(id, releases);
    const { base, requirements } = origin;
    const files =
      origin.base === undefined ? await step('link origin', () => origin.link(layout.originFolder)) : origin.files;
    const { lease, network, releases: networkReleases } = await networkPool.claim();
    releases.absorb(networkReleases);
    this.#pushCgroup(id, releases);
    const { vcpu, memoryGb } = sizes[size];
    const cgroupProcs = await cgroups.create(id, machineLimits(vcpu, memoryGb * 1024 ** 3));
    const record = { id, size, lease, base, requirements };
    await step('write record', () => writeMachineRecord(layout.recordPath, record));
    this.#pushDisk(layout, releases);
    await step('copy disk', () => copyFile(files.emptyLayerPath, layout.diskPath, constants.COPYFILE_FICLONE));
    await step('chown disk', async () => {
      await chmod(layout.diskPath, 0o600);
      await chown(layout.diskPath, lease.uid, lease.gid);
    });
    return { id, size, layout, lease, network, cgroupProcs, files, base, requirements };
  }

  /** Takes over the resources of a machine that an earlier host process left running. They are on the stack, also when this fails. */
  async adopt(
    { id, size, lease }: MachineRecord,
    releases: ReleaseStack,
  ): Promise<Omit<MachineResources, 'cgroupProcs'>> {
    const { leases, networks, step } = this.#options;
    const layout = machineLayout(this.folderOf(id));
    this.#pushFolder(id, releases);
    this.#pushAgentSockets(id, releases);
    releases.push('release uid', () => leases.release(lease));
    const networkReleases = new ReleaseStack(step);
    releases.push('release network', () => networkReleases.release());
    this.#pushCgroup(id, releases);
    this.#pushDisk(layout, releases);
    // Before its network is touched: the slot of a uid that another machine holds is that machine's, and nobody may lease it from here on.
    leases.adopt(lease);
    const network = await networks.adopt(lease.slot, networkReleases);
    return { id, size, layout, lease, network };
  }

  /** Lets the service open the agent ports of a machine whose process is running. */
  async shareAgentSockets({ id, layout }: Pick<MachineResources, 'id' | 'layout'>, step: StepRunner): Promise<void> {
    await step('share agent sockets', () => this.#options.agentSockets.share(id, layout.sockets));
  }

  /** Pushes what a machine that is gone may have left. Its network and uid are released by the sweeps. */
  pushOrphan(id: string, releases: ReleaseStack): void {
    this.#pushFolder(id, releases);
    this.#pushAgentSockets(id, releases);
    this.#pushCgroup(id, releases);
  }

  #pushFolder(id: string, releases: ReleaseStack): void {
    releases.push('remove folder', () => rm(this.folderOf(id), { recursive: true, force: true }));
  }

  #pushAgentSockets(id: string, releases: ReleaseStack): void {
    releases.push('remove agent sockets', () => this.#options.agentSockets.remove(id));
  }

  #pushCgroup(id: string, releases: ReleaseStack): void {
    releases.push('remove cgroup', () => this.#options.cgroups.remove(id));
  }

  /** The uid owns the disk and the memory that is being saved, so they are removed before the uid is released. */
  #pushDisk({ folder, memoryPath }: MachineLayout, releases: ReleaseStack): void {
    releases.push('remove disk', async () => {
      const layers = (await readdir(folder).catch(() => [])).filter(isOwnLayer);
      const paths = [...layers.map((name) => join(folder, name)), memoryPath];
      await Promise.all(paths.map((path) => rm(path, { force: true })));
    });
  }
}
