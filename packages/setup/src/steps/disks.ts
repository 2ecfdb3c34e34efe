import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type SizeName, sizeNames, sizes } from '@mayfly/contract';
import type { CacheEntry } from '../cache/entry.ts';
import { removeTree } from '../cache/remove-tree.ts';
import { digestFolder, hashValues } from '../hash-inputs.ts';
import { projectRoot } from '../project-root.ts';
import { ensureStep, type StepContext } from './context.ts';
import { makeDebianTree } from './debian-archive.ts';
import { makeExt4Disk } from './ext4.ts';
import { installGuestNode } from './guest-node.ts';
import { buildIcacheLine, icacheLineFolder } from './icache-line.ts';

const recipe = '1';
const imageFolder = join(projectRoot, 'guest/image');

/** The cache entry of the root disks as the image's recipe is now. */
export async function disksEntry(arch: string): Promise<CacheEntry> {
  const image = await digestFolder(imageFolder, (path) => !path.includes('node_modules'));
  const icacheLine = arch === 'arm64' ? await digestFolder(icacheLineFolder) : '';
  return { kind: 'disks', key: hashValues({ recipe, arch, image, icacheLine, sizes: JSON.stringify(sizes) }) };
}

/** What is made out of the image's tree. */
export interface Disks {
  /** The root disk of each size: raw, sparse, never written to once made. */
  readonly paths: Readonly<Record<SizeName, string>>;
  /** Library to preload into an emulating QEMU; undefined where none is needed. */
  readonly qemuPreloadPath: string | undefined;
}

/** The root disks, made if they are not cached. */
export async function ensureDisks(context: StepContext, entry: CacheEntry): Promise<Disks> {
  const folder = await ensureStep(context, 'guest image', entry, async (building, report) => {
    const tree = join(building, 'tree');
    const nodeFolder = join(building, 'node');
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
    if (context.arch === 'arm64') await buildIcacheLine(tree, icacheLinePath(building), context.signal);
    report('writing the disks');
    for (const size of sizeNames) {
      await makeExt4Disk(diskPath(building, size), sizes[size].diskGb * 2 ** 30, tree, context.signal);
    }
    await removeTree(tree);
  });
  return {
    paths: { small: diskPath(folder, 'small'), medium: diskPath(folder, 'medium'), large: diskPath(folder, 'large') },
    qemuPreloadPath: context.arch === 'arm64' ? icacheLinePath(folder) : undefined,
  };
}

function icacheLinePath(folder: string): string {
  return join(folder, 'icache-line.so');
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
