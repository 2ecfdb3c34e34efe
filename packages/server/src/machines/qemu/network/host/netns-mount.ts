import { readdir, readFile } from 'node:fs/promises';
import { netnsDir } from '../plan/address-plan.ts';
import { run } from './command.ts';

/** A name that no slot has. */
const firstNamespace = 'mayfly-first';

const isMounted = async (): Promise<boolean> =>
  (await readFile('/proc/self/mountinfo', 'utf8')).split('\n').some((line) => line.split(' ')[4] === netnsDir);

/** Has `ip` mount /run/netns, once and not by many at a time. Returns whether that was necessary. */
export const mountNetnsDir = async (): Promise<boolean> => {
  if (await isMounted()) return false;
  await run('ip', ['-batch', '-'], `netns add ${firstNamespace}\nnetns del ${firstNamespace}\n`);
  return true;
};

/** Unmounts /run/netns unless somebody's namespace is in it. */
export const unmountNetnsDir = async (): Promise<void> => {
  const names = await readdir(netnsDir).catch(() => []);
  if (names.length > 0 || !(await isMounted())) return;
  await run('umount', [netnsDir]);
  await run('rmdir', [netnsDir]);
};
