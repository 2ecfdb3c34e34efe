import { ProgramFailed, runProgram } from '../host/run-program.ts';
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

/** Finds a user by its name; undefined if there is none. */
export async function findUser(name: string): Promise<SystemUser | undefined> {
  try {
    return parsePasswd(await runProgram('getent', ['passwd', name], { deadlineMs: 30_000 }));
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
