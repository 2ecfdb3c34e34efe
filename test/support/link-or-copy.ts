import { link } from 'node:fs/promises';
import { runProgram } from '#server/system/run-program.ts';

/**
 * Gives a file of set-up's cache a second name, which takes no time although it may have gigabytes; on another file system the file is
 * copied. A caller that changes it must make a new file of it first: the cache has the same one.
 */
export async function linkOrCopy(source: string, target: string): Promise<void> {
  await link(source, target).catch(() =>
    runProgram('cp', ['--sparse=always', '--preserve=mode', source, target], { deadlineMs: 120_000 }),
  );
}
