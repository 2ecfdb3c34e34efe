import { constants } from 'node:fs';
import { readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { errorCode } from './control-file.ts';

/** How often a group that is not empty yet is tried again, in milliseconds. */
const retryMs = 5;

/** How long the kernel may take to end the processes of a group, in milliseconds. */
const removeDeadlineMs = 10_000;

/** The processes of a group. One in a foreign process namespace reads as 0, which no kill must ever get. */
export const parseProcs = (text: string): number[] =>
  text
    .split('\n')
    .map(Number)
    .filter((pid) => Number.isSafeInteger(pid) && pid > 1);

const killAll = async (group: string): Promise<void> => {
  // Without O_CREAT: a kernel before 5.14, and every version 1 group, has no such file.
  const atOnce = await writeFile(join(group, 'cgroup.kill'), '1', { flag: constants.O_WRONLY }).then(
    () => true,
    () => false,
  );
  if (atOnce) return;
  for (const pid of parseProcs(await readFile(join(group, 'cgroup.procs'), 'utf8').catch(() => ''))) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if (errorCode(error) !== 'ESRCH') throw error;
    }
  }
};

/** Ends every process of a group and removes it; a group that is not there is no error. Fails when processes do not end in time. */
export const removeGroup = async (group: string): Promise<void> => {
  for (let waitedMs = 0; ; waitedMs += retryMs) {
    try {
      await rmdir(group);
      return;
    } catch (cause) {
      const code = errorCode(cause);
      if (code === 'ENOENT') return;
      if (code !== 'EBUSY' || waitedMs >= removeDeadlineMs) {
        throw new Error(`could not remove the cgroup ${group}`, { cause });
      }
    }
    await killAll(group);
    await wait(retryMs);
  }
};
