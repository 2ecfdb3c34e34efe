import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from '#server/system/run-program.ts';

/** A real file system of a fixed size, in a file that is mounted over a loop device. */
export interface SmallFileSystem extends AsyncDisposable {
  readonly path: string;
}

/** Mounts a new ext4 of which nothing is reserved for root, so that root's programs run out of space as all others do. */
export async function mountSmallFileSystem(sizeMib: number): Promise<SmallFileSystem> {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-fs-'));
  const image = join(folder, 'image');
  const path = join(folder, 'data');
  const run = (program: string, ...args: string[]) => runProgram(program, args, { deadlineMs: 60_000 });
  try {
    await run('truncate', '-s', `${sizeMib}M`, image);
    await run('mke2fs', '-q', '-t', 'ext4', '-m', '0', image);
    await run('mkdir', '-m', '0755', path);
    await run('mount', '-o', 'loop', image, path);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return {
    path,
    [Symbol.asyncDispose]: async () => {
      await run('umount', path);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
