import { copyFile, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { runProgram } from '@mayfly/server/system';
import { type ReportDetail, SetupError } from '../announce.ts';
import { type CacheEntry, removeTree } from '../cache/entry.ts';
import { hashValues } from '../cache/keys.ts';
import { makeDebianTree } from './debian-tree.ts';
import { ensureStep, type StepContext } from './step.ts';

const recipe = '2';

/** The modules a guest needs. Those that are built into the kernel are left out. */
const wantedModules = [
  'virtio_blk',
  'virtio_net',
  'virtio_rng',
  'virtio_balloon',
  'ext4',
  'crc32c_generic',
  'vmgenid',
] as const;

/** Modules that a guest can do without where its kernel has none. */
const optionalModules: readonly string[] = ['crc32c_generic', 'vmgenid'] satisfies (typeof wantedModules)[number][];

/** A kernel and its modules. */
export interface Kernel {
  readonly imagePath: string;
  /** The kernel's own folder of modules or, for the guests' kernel, `<name>.ko` files and `order`, their names in loading order. */
  readonly modulesPath: string;
  /** e.g. "6.12.48+deb13-cloud-arm64". */
  readonly version: string;
}

/** The cache entry of the kernel, which does not depend on the image. `update` is the last update of the guest, empty before the first. */
export function kernelEntry(arch: string, update: string): CacheEntry {
  const inputs = { recipe, arch, modules: wantedModules.join(), ...(update !== '' && { update }) };
  return { kind: 'kernel', key: hashValues(inputs) };
}

/** Debian's cloud kernel and the few modules a guest needs. */
export async function ensureKernel(context: StepContext, entry: CacheEntry): Promise<Kernel> {
  const folder = await ensureStep(context, 'guest kernel', entry, async (stagingDir, report) => {
    const tree = join(stagingDir, 'tree');
    const { imagePath, modulesPath, version } = await unpackKernel(context, tree, report);
    await mkdir(join(stagingDir, 'modules'));
    await collectModules(modulesPath, wantedModules, join(stagingDir, 'modules'));
    await rename(imagePath, join(stagingDir, 'vmlinuz'));
    await writeFile(join(stagingDir, 'version'), version);
    await removeTree(tree);
  });
  const version = await readFile(join(folder, 'version'), 'utf8');
  return { imagePath: join(folder, 'vmlinuz'), modulesPath: join(folder, 'modules'), version };
}

/** Unpacks Debian's cloud kernel with all of its modules into a new folder, without installing it. */
export async function unpackKernel(context: StepContext, tree: string, report: ReportDetail): Promise<Kernel> {
  const kernelPackage = `linux-image-cloud-${context.arch === 'x64' ? 'amd64' : 'arm64'}`;
  await makeDebianTree(context, tree, { args: ['--variant=extract', `--include=${kernelPackage}`], report });
  const image = (await readdir(join(tree, 'boot'))).find((name) => name.startsWith('vmlinuz-'));
  if (image === undefined) {
    throw new SetupError(
      `Debian's package ${kernelPackage} has no kernel image. Set MAYFLY_DEBIAN_MIRROR to another mirror.`,
    );
  }
  const version = image.slice('vmlinuz-'.length);
  return { imagePath: join(tree, 'boot', image), modulesPath: join(tree, 'usr/lib/modules', version), version };
}

/** Copies the wanted modules and their dependencies, unpacked, and writes `order`. Modules built into the kernel are left out. */
export async function collectModules(tree: string, wanted: readonly string[], target: string): Promise<void> {
  const builtin = new Set((await readFile(join(tree, 'modules.builtin'), 'utf8')).trim().split('\n').map(moduleName));
  const files = new Map<string, string>();
  for (const entry of await readdir(join(tree, 'kernel'), { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) files.set(moduleName(entry.name), join(entry.parentPath, entry.name));
  }
  const order: string[] = [];
  const visit = async (name: string, optional: boolean): Promise<void> => {
    if (builtin.has(name) || order.includes(name)) return;
    const file = files.get(name);
    if (file === undefined) {
      if (optional) return;
      throw new SetupError(
        `The guest kernel has no module ${name}. Set MAYFLY_DEBIAN_MIRROR to another mirror of Debian 13.`,
      );
    }
    const unpacked = join(target, `${name}.ko`);
    await unpack(file, unpacked);
    for (const dependency of readDependencies(await readFile(unpacked))) await visit(dependency, true);
    order.push(name);
  };
  for (const name of wanted) await visit(name, optionalModules.includes(name));
  await writeFile(join(target, 'order'), order.map((name) => `${name}.ko\n`).join(''));
}

/** A module's name from its file name. The kernel treats dashes and underscores alike. */
export function moduleName(file: string): string {
  return basename(file)
    .replace(/\.ko(\.\w+)?$/, '')
    .replaceAll('-', '_');
}

/** The modules that must be loaded before this one, read from the module itself. */
export function readDependencies(module: Buffer): readonly string[] {
  const names: string[] = [];
  for (const [, field, value = ''] of module.toString('latin1').matchAll(/\0(depends|softdep)=([^\0]*)/g)) {
    // softdep=pre: a b post: c
    const text = field === 'depends' ? value : (/pre:([^:]*?)(?:\s\w+:|$)/.exec(value)?.[1] ?? '');
    names.push(...text.split(/[\s,]+/).filter((name) => name !== ''));
  }
  return names.map(moduleName);
}

async function unpack(file: string, target: string): Promise<void> {
  await copyFile(file, `${target}.packed`);
  const packer = /\.ko\.(\w+)$/.exec(file)?.[1];
  const script = packer === 'xz' ? 'xz -dc' : packer === 'zst' ? 'zstd -dc' : packer === 'gz' ? 'gzip -dc' : 'cat';
  await runProgram('sh', ['-c', `${script} < "$1.packed" > "$1" && rm "$1.packed"`, 'sh', target]);
}
