import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { parseEnv } from 'node:util';

const heading = `# Settings of Mayfly, one per line; docs/settings.md lists them. Restart after a change: systemctl restart mayfly-host mayfly
# After a change of folders, certificates, addresses or ports: npx mayfly install-service
`;

/** The settings that Mayfly's processes read. */
const kept = /^(?:MAYFLY_\w+|PG[A-Z]+|NODE_EXTRA_CA_CERTS)$/;

/** The settings in a file of systemd.exec(5); undefined if there is none. */
export async function readSettings(path: string): Promise<NodeJS.ProcessEnv | undefined> {
  if (!existsSync(path)) return undefined;
  const settings = Object.entries(parseEnv(await readFile(path, 'utf8')));
  return Object.fromEntries(settings.map(([name, value]) => [name, value?.replaceAll(/\\(["\\$`])/g, '$1')]));
}

/** Writes the settings of an environment to a file that only root can read: it may hold the password of the database. */
export async function writeSettings(path: string, env: NodeJS.ProcessEnv): Promise<void> {
  const lines = Object.entries(env)
    .filter(([name, value]) => kept.test(name) && value !== undefined)
    .map(([name, value]) => `${name}="${String(value).replaceAll(/["\\$`]/g, '\\$&')}"\n`);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, heading + lines.join(''), { mode: 0o600, flag: 'wx' });
}
