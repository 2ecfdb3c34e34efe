import { chmod, copyFile, mkdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram } from '@mayfly/server/system';
import { SetupError } from '../announce.ts';
import { type CacheEntry, removeTree } from '../cache/entry.ts';
import { hashValues } from '../cache/keys.ts';
import { requiredTools } from '../requirements/requirements.ts';
import { makeDebianTree } from '../steps/debian-tree.ts';
import { unpackKernel } from '../steps/kernel.ts';
import { ensureStep, type StepContext } from '../steps/step.ts';

const recipe = '2';

const initPath = fileURLToPath(new URL('./init.sh', import.meta.url));

/** The path of init.sh in the image. */
export const initInImage = '/sbin/mayfly-outer-init';

/** Much more than the packages need; the file is sparse. */
const diskSize = '6G';

/** A Debian 13 system that can run Mayfly: what set-up would install, and Debian's cloud kernel. It has KVM, and NVMe and ext4 built in. */
export interface OuterImage {
  readonly kernelPath: string;
  /** Raw ext4 root disk. Never written to once built. */
  readonly diskPath: string;
}

/** It takes a minute with a mirror nearby. */
const buildDeadlineMinutes = 5;

/** The image, built if it is not cached. Throws if that takes longer than its deadline. */
export async function ensureOuterImage(context: StepContext): Promise<OuterImage> {
  const deadline = AbortSignal.timeout(buildDeadlineMinutes * 60_000);
  try {
    return await ensureImage({ ...context, signal: AbortSignal.any([context.signal, deadline]) });
  } catch (error) {
    if (!deadline.aborted || context.signal.aborted) throw error;
    throw new SetupError(
      `The outer machine was not built within ${buildDeadlineMinutes} minutes. Check the network, or set MAYFLY_DEBIAN_MIRROR to a faster mirror, then try again.`,
      { cause: error },
    );
  }
}

async function ensureImage(context: StepContext): Promise<OuterImage> {
  const entry = await outerImageEntry(context.arch);
  const folder = await ensureStep(context, 'outer machine (Debian 13)', entry, async (stagingDir, report) => {
    context.announcer.line(
      `  Built once, in at most ${buildDeadlineMinutes} minutes, which do not count towards --minutes.`,
    );
    const tree = join(stagingDir, 'tree');
    await makeDebianTree(context, tree, {
      args: [
        '--variant=minbase',
        `--include=${packagesFor(context.arch).join()}`,
        '--dpkgopt=path-exclude=/usr/share/doc/*',
        '--dpkgopt=path-exclude=/usr/share/locale/*',
      ],
      report,
    });
    // Unpacked only: installing it would also build an initramfs, which is slow and not needed.
    const kernel = await unpackKernel(context, join(stagingDir, 'kernel'), report);
    await mkdir(join(tree, 'usr/lib/modules'), { recursive: true });
    await rename(kernel.modulesPath, join(tree, 'usr/lib/modules', kernel.version));
    await runProgram('chroot', [tree, 'depmod', kernel.version], { signal: context.signal });
    await rename(kernel.imagePath, join(stagingDir, 'vmlinuz'));
    await removeTree(join(stagingDir, 'kernel'));
    await copyFile(initPath, join(tree, initInImage));
    await chmod(join(tree, initInImage), 0o755);
    await mkdir(join(tree, 'mayfly'));
    report('writing the disk');
    const { signal } = context;
    await runProgram('mke2fs', ['-q', '-t', 'ext4', '-d', tree, join(stagingDir, 'disk.raw'), diskSize], { signal });
    await removeTree(tree);
  });
  return { kernelPath: join(folder, 'vmlinuz'), diskPath: join(folder, 'disk.raw') };
}

async function outerImageEntry(arch: string): Promise<CacheEntry> {
  const init = await readFile(initPath, 'utf8');
  return {
    kind: 'outer-machine',
    key: hashValues({ recipe, arch, init, packages: packagesFor(arch).join() }),
  };
}

/** The service's own requirements, and the tools of init.sh and the suites. */
function packagesFor(arch: string): readonly string[] {
  const required = requiredTools(arch, 'service').map(({ debianPackage }) => debianPackage);
  return [...new Set([...required, 'kmod', 'procps'])].sort();
}
