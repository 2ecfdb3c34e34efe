import { lstatSync, readdirSync } from 'node:fs';
import { lchown } from 'node:fs/promises';
import { basename, join } from 'node:path';
import {
  findGroup,
  findUser,
  groupsOf,
  type SystemGroup,
  type SystemUser,
  serviceUserName,
  usersOfGroup,
} from '@mayfly/server/confinement';
import { runProgram } from '@mayfly/server/system';
import { type Announcer, SetupError } from '../announce.ts';

/** The host's users; replaced in tests. */
export interface UserDatabase {
  find(name: string): Promise<SystemUser | undefined>;
  findGroup(nameOrGid: string): Promise<SystemGroup | undefined>;
  /** The numbers of all groups of a user. */
  groupsOf(name: string): Promise<readonly number[]>;
  /** The users whose own group this is. */
  usersOfGroup(gid: number): Promise<readonly string[]>;
  /** Runs useradd or userdel. */
  run(program: 'useradd' | 'userdel', args: readonly string[]): Promise<unknown>;
}

/** How set-up recognises the user that it created, so that uninstalling removes no other. */
const comment = 'Mayfly service, created by its set-up';

const hostUsers: UserDatabase = {
  find: findUser,
  findGroup,
  groupsOf,
  usersOfGroup,
  run: (program, args) => runProgram(program, args, { deadlineMs: 60_000 }),
};

/**
 * Makes sure that the system user exists under which the service runs: without a password, a shell and a home folder, and with a group of its own.
 * A user or group of that name that somebody else created is used if nobody can log in as it and nobody else has the group: the group may
 * connect to the host process and read the certificate's key.
 */
export async function ensureServiceUser(
  announcer: Pick<Announcer, 'line'>,
  users: UserDatabase = hostUsers,
): Promise<SystemUser> {
  const existing = await users.find(serviceUserName);
  if (existing) return await checkUser(existing, users);
  const home = ['--home-dir', '/nonexistent', '--no-create-home'];
  const shell = ['--shell', '/usr/sbin/nologin'];
  // useradd refuses to create a group that exists.
  const hasGroup = (await users.findGroup(serviceUserName)) !== undefined;
  const group = hasGroup ? ['--gid', serviceUserName] : ['--user-group'];
  const args = ['--system', ...group, ...home, ...shell, '--comment', comment, serviceUserName];
  // Another set-up may have created it meanwhile; what counts is that it is there.
  const failure = await users.run('useradd', args).then(
    () => undefined,
    (error: unknown) => error,
  );
  const created = await users.find(serviceUserName);
  if (!created) {
    const reason = failure instanceof Error ? failure.message : 'useradd reported success';
    throw new SetupError(
      `The system user ${serviceUserName} could not be created (${reason}). Create it, then try again: useradd ${args.slice(0, -3).join(' ')} ${serviceUserName}`,
    );
  }
  if (failure === undefined) announcer.line(`✓ created the system user ${serviceUserName}, which the service runs as`);
  return await checkUser(created, users);
}

async function checkUser(user: SystemUser, users: UserDatabase): Promise<SystemUser> {
  if (user.uid === 0 || user.gid === 0) {
    throw new SetupError(
      `The user ${serviceUserName} of this host has root's user or group id. Rename it, then try again: set-up creates its own.`,
    );
  }
  if (!['nologin', 'false'].includes(basename(user.shell))) {
    throw new SetupError(
      `The user ${serviceUserName} of this host can log in (its shell is ${user.shell || '/bin/sh'}), and the service must not share a person's account. Rename that user, or close it: usermod --shell /usr/sbin/nologin ${serviceUserName}`,
    );
  }
  await checkGroups(user, users);
  return user;
}

/** Refuses a user with other groups, whose rights the service would have, and a group that others have, who would have the service's. */
async function checkGroups({ gid }: SystemUser, users: UserDatabase): Promise<void> {
  const others = (await users.groupsOf(serviceUserName)).filter((other) => other !== gid);
  if (others.length > 0) {
    const names = await Promise.all(others.map(async (other) => (await users.findGroup(String(other)))?.name ?? other));
    throw new SetupError(
      `The user ${serviceUserName} of this host is in other groups (${names.join(', ')}), whose rights the service must not have. Remove it from them: usermod --groups "" ${serviceUserName}`,
    );
  }
  const group = await users.findGroup(String(gid));
  const sharing = new Set([...(group?.members ?? []), ...(await users.usersOfGroup(gid))]);
  sharing.delete(serviceUserName);
  if (group?.name !== serviceUserName || sharing.size > 0) {
    const shared = sharing.size > 0 ? `, which others have too (${[...sharing].join(', ')})` : '';
    throw new SetupError(
      `The group of the user ${serviceUserName} of this host is ${group?.name ?? gid}${shared}. The service needs a group ${serviceUserName} that nobody else has: remove the others from it, or create it with groupadd --system ${serviceUserName} and use it with usermod --gid ${serviceUserName} ${serviceUserName}`,
    );
  }
}

/** The user that set-up created, if it is still there. */
export async function findCreatedUser(users: UserDatabase = hostUsers): Promise<SystemUser | undefined> {
  const user = await users.find(serviceUserName);
  return user?.comment === comment ? user : undefined;
}

/**
 * Removes the user that set-up created. Its files in a data folder that is kept are given to root first: the next user of this host may get the
 * same id.
 */
export async function removeServiceUser(
  user: SystemUser,
  dataDir: string,
  users: UserDatabase = hostUsers,
): Promise<void> {
  await giveToRoot(dataDir, user.uid);
  await users.run('userdel', [serviceUserName]);
}

/** Gives root what a user owns below a folder. Follows no links, and does not enter folders of others. */
async function giveToRoot(path: string, uid: number): Promise<void> {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (!entry) return;
  const isOwn = entry.uid === uid;
  if (entry.isDirectory()) {
    for (const name of readdirSync(path)) {
      const inner = join(path, name);
      if (isOwn || lstatSync(inner, { throwIfNoEntry: false })?.uid === uid) await giveToRoot(inner, uid);
    }
  }
  if (isOwn) await lchown(path, 0, 0);
}
