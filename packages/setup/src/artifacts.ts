import type { SizeName } from '@mayfly/contract';
import type { HostTools } from '@mayfly/server/machines/qemu/driver.ts';
import { type CacheEntry, hasEntry } from './cache/entry.ts';
import type { StepContext } from './steps/context.ts';
import { disksEntry, ensureDisks } from './steps/disks.ts';
import { agentProgram, ensureProgram, jailProgram, netProgram, programEntry } from './steps/go-program.ts';
import { chooseGo, type GoChoice } from './steps/go-toolchain.ts';
import { ensureInitramfs, initramfsEntry } from './steps/initramfs.ts';
import { ensureKernel, kernelEntry } from './steps/kernel.ts';

/** Everything a guest is made of; absolute paths of files that are never written to. */
export interface GuestArtifacts {
  readonly kernelPath: string;
  readonly initrdPath: string;
  /** Raw, sparse root disk of each size. */
  readonly diskPaths: Readonly<Record<SizeName, string>>;
  /** Library to preload into an emulating QEMU; undefined where none is needed. */
  readonly qemuPreloadPath: string | undefined;
  /** e.g. "6.12.48+deb13-cloud-arm64". */
  readonly kernelVersion: string;
  /** Hashes of what each was made from; what is made from them again should hash these. */
  readonly keys: { readonly kernel: string; readonly initrd: string; readonly disks: string };
}

/** Which cache entries make up the guest as the checkout is now. */
export interface GuestPlan {
  readonly go: GoChoice;
  readonly kernel: CacheEntry;
  readonly agent: CacheEntry;
  readonly jail: CacheEntry;
  readonly net: CacheEntry;
  readonly initramfs: CacheEntry;
  readonly disks: CacheEntry;
}

/** Names all entries without making any. */
export async function planGuest(arch: string): Promise<GuestPlan> {
  const go = await chooseGo(arch);
  const [agent, jail, net, disks] = await Promise.all([
    programEntry(agentProgram, arch, go),
    programEntry(jailProgram, arch, go),
    programEntry(netProgram, arch, go),
    disksEntry(arch),
  ]);
  const kernel = kernelEntry(arch);
  return { go, kernel, agent, jail, net, initramfs: initramfsEntry(agent, kernel), disks };
}

/** Whether the large things, kernel and disks, are in the cache already. */
export async function isGuestCached(cacheDir: string, plan: GuestPlan): Promise<boolean> {
  return (await hasEntry(cacheDir, plan.kernel)) && (await hasEntry(cacheDir, plan.disks));
}

/** The guest's artifacts, made where they are not cached. */
export async function ensureGuestArtifacts(context: StepContext, plan: GuestPlan): Promise<GuestArtifacts> {
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

/** The programs of our own that run on the host, made where they are not cached. */
export async function ensureHostTools(context: StepContext, plan: GuestPlan): Promise<HostTools> {
  return {
    jailPath: await ensureProgram(context, jailProgram, plan.jail, plan.go),
    netPath: await ensureProgram(context, netProgram, plan.net, plan.go),
  };
}
