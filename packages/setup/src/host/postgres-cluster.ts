import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** What Debian's packages ask before they make and start a server of their own. */
const confPath = '/etc/postgresql-common/createcluster.conf';
/** The file as the package has it. */
const packagedPath = '/usr/share/postgresql-common/createcluster.conf';

/** Installs PostgreSQL without the server that its package would make and start; the host's settings are as before afterwards. */
export async function withoutOwnCluster(install: () => Promise<void>): Promise<void> {
  const before = await readFile(confPath, 'utf8').catch(() => undefined);
  await mkdir(dirname(confPath), { recursive: true });
  await writeFile(confPath, withoutMainCluster(before ?? ''));
  try {
    await install();
  } finally {
    if (before !== undefined) await writeFile(confPath, before);
    else await copyFile(packagedPath, confPath).catch(() => undefined);
  }
}

/** The settings with the one that keeps the package from making a server. */
export function withoutMainCluster(conf: string): string {
  const others = conf.split('\n').filter((line) => !/^\s*create_main_cluster\b/.test(line));
  return `${others.join('\n').trimEnd()}\ncreate_main_cluster = false\n`.trimStart();
}
