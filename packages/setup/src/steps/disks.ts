import { copyFile, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type SizeName, sizeNames, sizes } from '@mayfly/contract';
import { runProgram } from '@mayfly/server/system';
import { type ReportDetail, SetupError } from '../announce.ts';
import { type CacheEntry, removeTree } from '../cache/entry.ts';
import { digestFolder, hashValues } from '../cache/keys.ts';
import { projectRoot } from '../environment.ts';
import { makeDebianTree } from './debian-tree.ts';
import { ensureStep, type StepContext } from './step.ts';

const recipe = '1';
const imageFolder = join(projectRoot, 'guest/image');
/** Source of a library that is preloaded into QEMU; its comments say why. */
const preloadFolder = join(projectRoot, 'native/qemu-preload');

/** The root disks of the guests. */
export interface Disks {
  /** The root disk of each size: raw, sparse, never written to once built. */
  readonly paths: Readonly<Record<SizeName, string>>;
  /** Library to preload into QEMU. */
  readonly qemuPreloadPath: string;
}

/** The cache entry of the root disks for the current image recipe. `update` is the last update of the guest, empty before the first. */
export async function disksEntry(arch: string, update: string): Promise<CacheEntry> {
  const image = await digestFolder(imageFolder, (path) => !path.includes('node_modules'));
  const preload = await digestFolder(preloadFolder);
  const inputs = { recipe, arch, image, preload, sizes: JSON.stringify(sizes), ...(update !== '' && { update }) };
  return { kind: 'disks', key: hashValues(inputs) };
}

/** The root disks, built if they are not cached. */
export async function ensureDisks(context: StepContext, entry: CacheEntry): Promise<Disks> {
  const folder = await ensureStep(context, 'guest image', entry, async (stagingDir, report) => {
    const tree = join(stagingDir, 'tree');
    const nodeFolder = join(stagingDir, 'node');
    await installGuestNode(context, nodeFolder, report);
    const packages = readLines(await readFile(join(imageFolder, 'packages.txt'), 'utf8'));
    const dpkgOptions = readLines(await readFile(join(imageFolder, 'dpkg-excludes.txt'), 'utf8'));
    await makeDebianTree(context, tree, {
      args: [
        '--variant=minbase',
        `--include=${packages.join()}`,
        ...dpkgOptions.map((line) => `--dpkgopt=${line}`),
        '--customize-hook=sh "$MAYFLY_IMAGE_DIR/customize.sh" "$1"',
      ],
      env: { MAYFLY_IMAGE_DIR: imageFolder, MAYFLY_NODE_DIR: nodeFolder },
      report,
    });
    await removeTree(nodeFolder);
    await buildPreload(tree, preloadPath(stagingDir), context.signal);
    report('writing the disks');
    for (const size of sizeNames) {
      await buildExt4Disk(diskPath(stagingDir, size), sizes[size].diskGb * 2 ** 30, tree, context.signal);
    }
    await removeTree(tree);
  });
  return {
    paths: { small: diskPath(folder, 'small'), medium: diskPath(folder, 'medium'), large: diskPath(folder, 'large') },
    qemuPreloadPath: preloadPath(folder),
  };
}

function preloadPath(folder: string): string {
  return join(folder, 'qemu-preload.so');
}

function diskPath(folder: string, size: SizeName): string {
  return join(folder, `disk-${size}.raw`);
}

/** The lines of a recipe file without comments. */
function readLines(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}

/** Settings that the npm that started us may have exported, and that must not affect an install elsewhere. */
const inheritedNpmSettings =
  /^(npm_config_(local_prefix|prefix|global|omit|only|production|include|workspaces?|node_gyp)|NODE_ENV|INIT_CWD)$/i;

/** Installs the pinned Node.js and npm of the image into a new folder. */
async function installGuestNode(context: StepContext, folder: string, report: ReportDetail): Promise<void> {
  await mkdir(folder);
  for (const name of ['package.json', 'package-lock.json']) {
    await copyFile(join(imageFolder, 'node', name), join(folder, name));
  }
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !inheritedNpmSettings.test(name)));
  report('downloading Node.js and npm for the image');
  const options = ['--ignore-scripts', '--include=optional', '--no-audit', '--no-fund', '--no-update-notifier'];
  await runProgram('npm', ['ci', ...options, '--prefix', folder], { cwd: folder, env, signal: context.signal });
}

/** Builds the preloaded library with the compiler of the image, because the host may have none. */
async function buildPreload(tree: string, target: string, signal: AbortSignal): Promise<void> {
  await copyFile(join(preloadFolder, 'qemu-preload.c'), join(tree, 'tmp/qemu-preload.c'));
  const flags = ['-shared', '-fPIC', '-O2', '-nostartfiles', '-fno-stack-protector', '-Wall', '-Werror'];
  await runProgram('chroot', [tree, 'gcc', ...flags, '-o', '/tmp/qemu-preload.so', '/tmp/qemu-preload.c'], { signal });
  await rename(join(tree, 'tmp/qemu-preload.so'), target);
  await rm(join(tree, 'tmp/qemu-preload.c'));
}

const blockBytes = 4096;
const reservedForRootBytes = 64 * 2 ** 20;
/** Fixed, so that the same tree gives the same disk. */
const uuid = '6d617966-6c79-4000-8000-000000000000';
const hashSeed = '6d617966-6c79-4000-8000-000000000001';
const maximumFittingRounds = 6;

/** Builds a sparse ext4 disk of the tree on which `df` shows exactly the visible size. */
async function buildExt4Disk(path: string, visibleBytes: number, tree: string, signal: AbortSignal): Promise<void> {
  const fileBytes = await fitFileBytes(path, visibleBytes, signal);
  await makeFileSystem(path, fileBytes, signal, tree);
}

/** The file size at which the file system's own tables leave exactly the visible size. */
async function fitFileBytes(path: string, visibleBytes: number, signal: AbortSignal): Promise<number> {
  let fileBytes = visibleBytes;
  for (let round = 0; round < maximumFittingRounds; round++) {
    await makeFileSystem(path, fileBytes, signal);
    const header = await runProgram('dumpe2fs', ['-h', path], { signal });
    const overheadBlocks = Number(/^Overhead clusters:\s+(\d+)$/m.exec(header)?.[1] ?? 0);
    const fittingBytes = visibleBytes + overheadBlocks * blockBytes;
    if (fittingBytes === fileBytes) return fileBytes;
    fileBytes = fittingBytes;
  }
  throw new SetupError(
    `mke2fs of this host makes no disk with exactly ${visibleBytes} visible bytes. Update e2fsprogs.`,
  );
}

async function makeFileSystem(path: string, fileBytes: number, signal: AbortSignal, tree?: string): Promise<void> {
  await rm(path, { force: true });
  const file = await open(path, 'wx');
  await file.truncate(fileBytes);
  await file.close();
  const env = { ...process.env, E2FSPROGS_FAKE_TIME: '1700000000' };
  await runProgram('mke2fs', mke2fsArguments(path, fileBytes, tree), { env, signal });
}

function mke2fsArguments(path: string, fileBytes: number, tree?: string): readonly string[] {
  const extended = [
    'assume_storage_prezeroed=1',
    'lazy_itable_init=1',
    'lazy_journal_init=1',
    'root_owner=0:0',
    `hash_seed=${hashSeed}`,
  ];
  return [
    ...['-q', '-F', '-t', 'ext4', '-b', String(blockBytes), '-L', 'mayfly', '-U', uuid],
    ...['-i', '32768', '-J', 'size=64', '-O', '^resize_inode', '-E', extended.join()],
    ...['-m', ((100 * reservedForRootBytes) / fileBytes).toFixed(5)],
    ...(tree ? ['-d', tree] : []),
    path,
  ];
}
