import { ProgramFailed, runProgram } from '../system/run-program.ts';
import type { UserIds } from './spec.ts';

/** The user and group that the service runs as. */
export const serviceUserName = 'mayfly';

/** A user of this host, as the name service knows it. */
export interface SystemUser extends UserIds {
  /** Free text; set-up marks the user it creates. */
  readonly comment: string;
  readonly home: string;
  readonly shell: string;
}

/** A group of this host. */
export interface SystemGroup {
  readonly name: string;
  readonly gid: number;
  /** The names of the users that have it besides their own group. */
  readonly members: readonly string[];
}

const deadlineMs = 30_000;

/** Finds a user by its name; undefined if there is none. */
export async function findUser(name: string): Promise<SystemUser | undefined> {
  return parsePasswd((await getEntry('passwd', name)) ?? '');
}

/** Finds a group by its name or number; undefined if there is none. */
export async function findGroup(nameOrGid: string): Promise<SystemGroup | undefined> {
  return parseGroup((await getEntry('group', nameOrGid)) ?? '');
}

/** The numbers of all groups of a user, its own among them. */
export async function groupsOf(name: string): Promise<number[]> {
  return (await runProgram('id', ['-G', name], { deadlineMs })).trim().split(/\s+/).map(Number);
}

/** The names of the users whose own group this is. */
export async function usersOfGroup(gid: number): Promise<string[]> {
  const lines = (await runProgram('getent', ['passwd'], { deadlineMs })).split('\n');
  return lines.filter((line) => parsePasswd(line)?.gid === gid).map((line) => line.slice(0, line.indexOf(':')));
}

/** One line of a database of the name service; undefined if there is none. */
async function getEntry(database: string, key: string): Promise<string | undefined> {
  try {
    return await runProgram('getent', [database, key], { deadlineMs });
  } catch (error) {
    // getent exits with 2 for a name that does not exist.
    if (error instanceof ProgramFailed && error.message.includes('exit code 2')) return undefined;
    throw error;
  }
}

/** Parses a line of passwd(5); undefined when it is malformed. */
export function parsePasswd(line: string): SystemUser | undefined {
  const [, , uid = '', gid = '', comment = '', home = '', shell = ''] = line.trim().split(':');
  if (!/^\d{1,10}$/.test(uid) || !/^\d{1,10}$/.test(gid)) return undefined;
  return { uid: Number(uid), gid: Number(gid), comment, home, shell };
}

/** Parses a line of group(5); undefined when it is malformed. */
function parseGroup(line: string): SystemGroup | undefined {
  const [name = '', , gid = '', members = ''] = line.trim().split(':');
  if (!/^\d{1,10}$/.test(gid)) return undefined;
  return { name, gid: Number(gid), members: members.split(',').filter((member) => member !== '') };
}
