import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';

export interface UnixUser {
  readonly uid: number;
  readonly gid: number;
}

/** The folder of PostgreSQL's programs: the newest where Debian puts them, else on the path. */
export function findPostgres(): string {
  const version = (path: string) => Number.parseFloat(path.split('/').at(-3) ?? '');
  const servers = globSync('/usr/lib/postgresql/*/bin/postgres').sort((a, b) => version(b) - version(a));
  const folders = [...servers.map(dirname), ...(process.env.PATH ?? '').split(':')];
  const found = folders.find((folder) => existsSync(`${folder}/initdb`) && existsSync(`${folder}/postgres`));
  if (found === undefined)
    throw new Error('PostgreSQL is not installed: run the tests with npm test, which installs it.');
  return found;
}

/** Who runs PostgreSQL for root, which it refuses to run as; undefined if this is not root. */
export function unprivilegedUser(): UnixUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = new Map(readFileSync('/etc/passwd', 'utf8').split('\n').map(parseUser));
  const user = users.get('postgres') ?? users.get('nobody');
  if (user === undefined) throw new Error('there is neither a user postgres nor a user nobody');
  return user;
}

function parseUser(line: string): [name: string, user: UnixUser] {
  const [name = '', , uid, gid] = line.split(':');
  return [name, { uid: Number(uid), gid: Number(gid) }];
}
