import type { SizeName } from '@mayfly/contract';
import type { HostTools } from '@mayfly/server/machines';
import { type CacheEntry, findEntry } from './cache/entry.ts';
import { disksEntry, ensureDisks } from './steps/disks.ts';
import {
  agentProgram,
  chooseGo,
  ensureProgram,
  type GoChoice,
  jailProgram,
  netProgram,
  programEntry,
  ramProgram,
} from './steps/go.ts';
import { ensureInitramfs, initramfsEntry } from './steps/initramfs.ts';
import { ensureKernel, kernelEntry } from './steps/kernel.ts';
import type { StepContext } from './steps/step.ts';

/** The files that guests are made of, as absolute paths. They are never written to. */
export interface GuestArtifacts {
  readonly kernelPath: string;
  readonly initrdPath: string;
  /** Raw, sparse root disk of each size. */
  readonly diskPaths: Readonly<Record<SizeName, string>>;
  /** Library to preload into QEMU. */
  readonly qemuPreloadPath: string;
  /** e.g. "6.12.48+deb13-cloud-arm64". */
  readonly kernelVersion: string;
  /** Cache keys of the artifacts; part of the keys of the templates, which are built from them. */
  readonly keys: { readonly kernel: string; readonly initrd: string; readonly disks: string };
}

/** The cache entries of everything that is built, for the current state of the checkout. */
export interface BuildPlan {
  readonly go: GoChoice;
  readonly kernel: CacheEntry;
  readonly agent: CacheEntry;
  readonly jail: CacheEntry;
  readonly net: CacheEntry;
  readonly ram: CacheEntry;
  readonly initramfs: CacheEntry;
  readonly disks: CacheEntry;
}

export interface PlanOptions {
  /** The host's compiler by default. */
  readonly go?: GoChoice;
  /** The update of the guest to build or use; none by default. */
  readonly guestUpdate?: string;
}

/** Determines all entries without building any. */
export async function planBuild(
  arch: string,
  { go: goChoice, guestUpdate = '' }: PlanOptions = {},
): Promise<BuildPlan> {
  const go = goChoice ?? (await chooseGo(arch));
  const [agent, jail, net, ram, disks] = await Promise.all([
    programEntry(agentProgram, arch, go),
    programEntry(jailProgram, arch, go),
    programEntry(netProgram, arch, go),
    programEntry(ramProgram, arch, go),
    disksEntry(arch, guestUpdate),
  ]);
  const kernel = kernelEntry(arch, guestUpdate);
  return { go, kernel, agent, jail, net, ram, initramfs: initramfsEntry(agent, kernel), disks };
}

/** Whether the large artifacts, kernel and disks, are already cached. */
export async function isGuestCached(cacheDir: string, { kernel, disks }: BuildPlan): Promise<boolean> {
  const found = await Promise.all([kernel, disks].map((entry) => findEntry(cacheDir, entry)));
  return found.every((path) => path !== undefined);
}

/** The guest's artifacts, built if they are not cached. */
export async function ensureGuestArtifacts(context: StepContext, plan: BuildPlan): Promise<GuestArtifacts> {
  const kernel = await ensureKernel(context, plan.kernel);
  const disks = await ensureDisks(context, plan.disks);
  const agentPath = await ensureProgram(context, agentProgram, plan.agent, plan.go);
  const initrdPath = await ensureInitramfs(context, plan.initramfs, { agentPath, modulesPath: kernel.modulesPath });
  return {
    kernelPath: kernel.imagePath,
    initrdPath,
    diskPaths: disks.paths,
    qemuPreloadPath: disks.qemuPreloadPath,
    kernelVersion: kernel.version,
    keys: { kernel: plan.kernel.key, initrd: plan.initramfs.key, disks: plan.disks.key },
  };
}

/** The project's own programs that run on the host, compiled if they are not cached. */
export async function ensureHostTools(context: StepContext, plan: BuildPlan): Promise<HostTools> {
  return {
    jailPath: await ensureProgram(context, jailProgram, plan.jail, plan.go),
    netPath: await ensureProgram(context, netProgram, plan.net, plan.go),
    ramPath: await ensureProgram(context, ramProgram, plan.ram, plan.go),
  };
}
