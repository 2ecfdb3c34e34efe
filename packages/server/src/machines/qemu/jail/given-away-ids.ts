import { readFile } from 'node:fs/promises';
import { runProgram } from '../../../system/run-program.ts';
import type { HostProblem } from '../network/check-support.ts';
import { resolverUsers } from '../network/resolver/resolver-users.ts';
import { hostUidRange } from './uid-leases.ts';

interface IdRange {
  readonly first: number;
  readonly count: number;
}

/** The user and group ids of machines and resolvers. */
const ownIds: IdRange = {
  first: hostUidRange.firstUid,
  count: resolverUsers.firstUid + resolverUsers.slots - hostUidRange.firstUid,
};

const deadlineMs = 10_000;

/** Texts that say which ids this host has given away. */
export interface IdSources {
  /** /etc/subuid and /etc/subgid: ranges for containers of users. */
  readonly subordinate: Readonly<Record<string, string>>;
  /** `getent passwd` and `getent group`, which ask directories such as LDAP too. */
  readonly accounts: Readonly<Record<string, string>>;
}

/** Reads a file, or lists a database of getent. Returns an empty text for one that does not exist. */
export type ReadIdSource = (source: '/etc/subuid' | '/etc/subgid' | 'passwd' | 'group') => Promise<string>;

const readIdSource: ReadIdSource = async (source) => {
  const text = source.startsWith('/') ? readFile(source, 'utf8') : runProgram('getent', [source], { deadlineMs });
  return await text.catch(() => '');
};

/** Returns a problem for each user, group or range that has ids of machines: its processes could kill machines and read their memory. */
export async function checkGivenAwayIds(read: ReadIdSource = readIdSource): Promise<HostProblem[]> {
  const [subuid, subgid, passwd, group] = await Promise.all([
    read('/etc/subuid'),
    read('/etc/subgid'),
    read('passwd'),
    read('group'),
  ]);
  return findGivenAwayIds({
    subordinate: { '/etc/subuid': subuid, '/etc/subgid': subgid },
    accounts: { user: passwd, group },
  });
}

/** The same, from texts. Pure. */
export function findGivenAwayIds({ subordinate, accounts }: IdSources, own: IdRange = ownIds): HostProblem[] {
  const last = own.first + own.count - 1;
  const needed = `Mayfly runs machines under the ids ${own.first} to ${last}`;
  const ranges = Object.entries(subordinate).flatMap(([file, text]) =>
    rowsOf(text)
      .filter(([, first, count]) => overlap({ first: Number(first), count: Number(count) }, own))
      .map(([name, first, count]) => ({
        what: `${file} gives ${name} the ids from ${first} on (${count} of them), and ${needed}`,
        remedy: `give ${name} another range in ${file}, below ${own.first}`,
      })),
  );
  const owners = Object.entries(accounts).flatMap(([kind, text]) =>
    rowsOf(text)
      .filter(([, , id]) => overlap({ first: Number(id), count: 1 }, own))
      .map(([name, , id]) => ({
        what: `the ${kind} ${name} has the id ${id}, and ${needed}`,
        remedy: `give the ${kind} ${name} another id`,
      })),
  );
  return [...ranges, ...owners];
}

function rowsOf(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.includes(':') && !line.startsWith('#'))
    .map((line) => line.split(':'));
}

function overlap(a: IdRange, b: IdRange): boolean {
  return a.count > 0 && a.first < b.first + b.count && b.first < a.first + a.count;
}
