import { readdir, readFile } from 'node:fs/promises';
import { netnsDir } from '../plan/address-plan.ts';
import { run } from './command.ts';

/** A name that no slot has. */
const firstNamespace = 'mayfly-first';

/** Whether /run/netns is a mount point, as `ip netns add` makes it. */
export const isNetnsDirMounted = async (): Promise<boolean> =>
  (await readFile('/proc/self/mountinfo', 'utf8')).split('\n').some((line) => line.split(' ')[4] === netnsDir);

/** Has `ip` mount /run/netns, before many networks are made at a time. */
export const mountNetnsDir = async (): Promise<void> => {
  await run('ip', ['-batch', '-'], `netns add ${firstNamespace}\nnetns del ${firstNamespace}\n`);
};

/** Unmounts /run/netns and removes it, unless somebody's namespace is in it. Where somebody just begins to use it, it stays. */
export const unmountNetnsDir = async (): Promise<void> => {
  const names = await readdir(netnsDir).catch(() => []);
  if (names.length > 0 || !(await isNetnsDirMounted())) return;
  const isUnmounted = await run('umount', [netnsDir]).then(...([() => true, () => false] as const));
  if (isUnmounted) await run('rmdir', [netnsDir]).catch(() => {});
};
