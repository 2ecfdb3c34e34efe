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

type AccountDatabase = 'passwd' | 'group';

/**
 * Reads a file, or asks getent for a database: for the accounts with these ids, by default for all that it lists. Returns what is known of them, an empty text if there is no
 * such file or program.
 */
export type ReadIdSource = (
  source: '/etc/subuid' | '/etc/subgid' | '/etc/nsswitch.conf' | AccountDatabase,
  ids?: readonly number[],
) => Promise<string>;

export const readIdSource: ReadIdSource = async (source, ids = []) => {
  if (source.startsWith('/')) return await readFile(source, 'utf8').catch(() => '');
  const lines: string[] = [];
  // It exits with an error if it does not find all of them.
  const onLine = (line: string) => void lines.push(line);
  await runProgram('getent', [source, ...ids.map(String)], { deadlineMs, onLine }).catch(() => {});
  return lines.join('\n');
};

/** Sources of accounts that list all of them. Others, such as sss and ldap, may tell of an account only to those who ask for its id. */
const listingSources: readonly string[] = ['files', 'compat', 'systemd'];

/** How many ids one call asks for. */
const idsPerCall = 1_000;

/** Returns a problem for each user, group or range that has ids of machines: its processes could kill machines and read their memory. */
export async function checkGivenAwayIds(read: ReadIdSource = readIdSource): Promise<HostProblem[]> {
  const nsswitch = await read('/etc/nsswitch.conf');
  const [subuid, subgid, user, group] = await Promise.all([
    read('/etc/subuid'),
    read('/etc/subgid'),
    readAccounts(read, 'passwd', nsswitch),
    readAccounts(read, 'group', nsswitch),
  ]);
  return findGivenAwayIds({
    subordinate: { '/etc/subuid': subuid, '/etc/subgid': subgid },
    accounts: { user, group },
  });
}

/** The accounts that a database lists, and those with ids of machines that its sources do not list. */
async function readAccounts(read: ReadIdSource, database: AccountDatabase, nsswitch: string): Promise<string> {
  const listed = read(database);
  if (sourcesOf(database, nsswitch).every((name) => listingSources.includes(name))) return await listed;
  const ids = Array.from({ length: ownIds.count }, (_, at) => ownIds.first + at);
  const calls = Array.from({ length: Math.ceil(ids.length / idsPerCall) }, (_, at) =>
    read(database, ids.slice(at * idsPerCall, (at + 1) * idsPerCall)),
  );
  const lines = (await Promise.all([listed, ...calls])).flatMap((text) => text.split('\n'));
  return [...new Set(lines)].join('\n');
}

/** The sources of a database in nsswitch.conf, without what follows from their results. */
function sourcesOf(database: AccountDatabase, nsswitch: string): readonly string[] {
  const [, sources = ''] = new RegExp(`^\\s*${database}:([^#\\n]*)`, 'm').exec(nsswitch) ?? [];
  return sources
    .replaceAll(/\[[^\]]*\]/g, ' ')
    .split(/\s+/)
    .filter((name) => name !== '');
}

/** The problems that `checkGivenAwayIds` finds, from texts. Pure. */
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
