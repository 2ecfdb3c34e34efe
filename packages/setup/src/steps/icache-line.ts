import { copyFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { projectRoot } from '../project-root.ts';
import { runCommand } from '../run-command.ts';

/** What host/icache-line explains: a library for QEMU on arm64 hosts. */
export const icacheLineFolder = join(projectRoot, 'host/icache-line');

/** Builds that library with the compiler of the guest image, as the host may have none. */
export async function buildIcacheLine(tree: string, target: string, signal: AbortSignal): Promise<void> {
  await copyFile(join(icacheLineFolder, 'icache-line.c'), join(tree, 'tmp/icache-line.c'));
  const flags = ['-shared', '-fPIC', '-O2', '-nostartfiles', '-fno-stack-protector', '-Wall', '-Werror'];
  await runCommand('chroot', [tree, 'gcc', ...flags, '-o', '/tmp/icache-line.so', '/tmp/icache-line.c'], { signal });
  await rename(join(tree, 'tmp/icache-line.so'), target);
  await rm(join(tree, 'tmp/icache-line.c'));
}
