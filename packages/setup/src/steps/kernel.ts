import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CacheEntry } from '../cache/entry.ts';
import { removeTree } from '../cache/remove-tree.ts';
import { hashValues } from '../hash-inputs.ts';
import { SetupError } from '../setup-error.ts';
import { ensureStep, type StepContext } from './context.ts';
import { makeDebianTree } from './debian-archive.ts';
import { collectModules } from './kernel-modules.ts';

const recipe = '2';

/** What the guest needs beyond what is built into the kernel; those that are built in are left out. */
const wantedModules = ['virtio_blk', 'virtio_net', 'virtio_rng', 'ext4', 'crc32c_generic'] as const;

/** The kernel of every guest. */
export interface Kernel {
  readonly imagePath: string;
  /** Folder with `<name>.ko` and `order`, the file names in the order to load them. */
  readonly modulesPath: string;
  /** e.g. "6.12.48+deb13-cloud-arm64". */
  readonly version: string;
}

/** The cache entry of the kernel; it does not depend on the image. */
export function kernelEntry(arch: string): CacheEntry {
  return { kind: 'kernel', key: hashValues({ recipe, arch, modules: wantedModules.join() }) };
}

/** Debian's cloud kernel and the few modules a guest needs. */
export async function ensureKernel(context: StepContext, entry: CacheEntry): Promise<Kernel> {
  const folder = await ensureStep(context, 'guest kernel', entry, async (building, report) => {
    const tree = join(building, 'tree');
    const kernelPackage = `linux-image-cloud-${context.arch === 'x64' ? 'amd64' : 'arm64'}`;
    await makeDebianTree(context, tree, { args: ['--variant=extract', `--include=${kernelPackage}`], report });
    const image = (await readdir(join(tree, 'boot'))).find((name) => name.startsWith('vmlinuz-'));
    if (image === undefined) throw new SetupError(`${kernelPackage} brought no kernel image`);
    const version = image.slice('vmlinuz-'.length);
    await mkdir(join(building, 'modules'));
    await collectModules(join(tree, 'usr/lib/modules', version), wantedModules, join(building, 'modules'));
    await rename(join(tree, 'boot', image), join(building, 'vmlinuz'));
    await writeFile(join(building, 'version'), version);
    await removeTree(tree);
  });
  const version = await readFile(join(folder, 'version'), 'utf8');
  return { imagePath: join(folder, 'vmlinuz'), modulesPath: join(folder, 'modules'), version };
}
