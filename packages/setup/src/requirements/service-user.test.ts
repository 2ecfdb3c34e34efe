import { findGroup, groupsOf, type SystemGroup, type SystemUser, usersOfGroup } from '@mayfly/server/confinement';
import { beforeEach, expect, test } from 'vitest';
import { ensureServiceUser, findCreatedUser, type UserDatabase } from './service-user.ts';

let users: Map<string, SystemUser>;
let calls: string[];
let printed: string[];
let failure: Error | undefined;
const nobodyElse: SystemUser = { uid: 998, gid: 997, comment: '', home: '/', shell: '/usr/sbin/nologin' };
let groups: Map<string, SystemGroup>;
let groupIds: number[];
let sharing: string[];
const ownGroup: SystemGroup = { name: 'mayfly', gid: 997, members: [] };
const announcer = { line: (line: string) => void printed.push(line) };
const database: UserDatabase = {
  find: (name) => Promise.resolve(users.get(name)),
  findGroup: (key) =>
    Promise.resolve([...groups.values()].find(({ name, gid }) => key === name || key === String(gid))),
  groupsOf: () => Promise.resolve(groupIds),
  usersOfGroup: () => Promise.resolve(['mayfly', ...sharing]),
  run: (program, args) => {
    calls.push([program, ...args].join(' '));
    if (failure) return Promise.reject(failure);
    const name = args.at(-1) ?? '';
    const option = (wanted: string) => args[args.indexOf(wanted) + 1] ?? '';
    if (program === 'userdel') users.delete(name);
    else if (args.includes('--user-group') && groups.has(name)) {
      return Promise.reject(new Error('useradd failed with exit code 9: group mayfly exists'));
    } else groups.set(name, ownGroup);
    if (program === 'useradd')
      users.set(name, { ...nobodyElse, comment: option('--comment'), shell: option('--shell') });
    return Promise.resolve();
  },
};
beforeEach(() => {
  users = new Map();
  [calls, printed, failure] = [[], [], undefined];
  groups = new Map();
  [groupIds, sharing] = [[997], []];
});

test('the user is created once: a system user with a group of its own, without home and shell', async () => {
  expect(await ensureServiceUser(announcer, database)).toMatchObject({ uid: 998, gid: 997 });
  expect(await ensureServiceUser(announcer, database)).toMatchObject({ uid: 998, gid: 997 });
  expect(calls).toHaveLength(1);
  expect(calls[0]).toMatch(
    /^useradd --system --user-group --home-dir \/nonexistent --no-create-home --shell \/usr\/sbin\/nologin .* mayfly$/,
  );
  expect(printed).toEqual(['✓ created the system user mayfly, which the service runs as']);
});

test('a system user that the operator made is used, and never removed', async () => {
  users.set('mayfly', { ...nobodyElse, shell: '/bin/false' });
  groups.set('mayfly', ownGroup);
  await ensureServiceUser(announcer, database);
  expect(await findCreatedUser(database)).toBeUndefined();
  expect([calls, printed]).toEqual([[], []]);
});

test('a user that can log in, or that is root, is refused with a remedy', async () => {
  users.set('mayfly', { ...nobodyElse, shell: '/bin/bash' });
  await expect(ensureServiceUser(announcer, database)).rejects.toThrow(/can log in .*\/bin\/bash.*usermod --shell/);
  users.set('mayfly', { ...nobodyElse, shell: '' });
  await expect(ensureServiceUser(announcer, database)).rejects.toThrow('can log in');
  users.set('mayfly', { ...nobodyElse, gid: 0 });
  await expect(ensureServiceUser(announcer, database)).rejects.toThrow('root');
  expect(calls).toEqual([]);
});

test('a group that exists becomes the user’s own, unless others have it', async () => {
  groups.set('mayfly', ownGroup);
  expect(await ensureServiceUser(announcer, database)).toMatchObject({ gid: 997 });
  expect(calls[0]).toMatch(/^useradd --system --gid mayfly --home-dir/);
  sharing = ['alice'];
  await expect(ensureServiceUser(announcer, database)).rejects.toThrow(/is mayfly, which others have too \(alice\)/);
  sharing = [];
  groups.set('mayfly', { ...ownGroup, members: ['bob', 'mayfly'] });
  await expect(ensureServiceUser(announcer, database)).rejects.toThrow(/others have too \(bob\)/);
});

test('a user whose group is another one, or that has more groups, is refused with a remedy', async () => {
  users.set('mayfly', nobodyElse);
  groups.set('users', { name: 'users', gid: 997, members: [] });
  await expect(ensureServiceUser(announcer, database)).rejects.toThrow(/is users\. .*usermod --gid mayfly mayfly/);
  groups = new Map([
    ['mayfly', ownGroup],
    ['docker', { name: 'docker', gid: 103, members: ['mayfly'] }],
  ]);
  groupIds = [997, 103, 104];
  await expect(ensureServiceUser(announcer, database)).rejects.toThrow(
    /is in other groups \(docker, 104\).*usermod --groups "" mayfly/,
  );
  expect(calls).toEqual([]);
});

test('the groups of this host are read', async () => {
  expect(await findGroup('root')).toMatchObject({ name: 'root', gid: 0 });
  expect(await findGroup('0')).toMatchObject({ name: 'root' });
  expect(await findGroup('no-such-group')).toBeUndefined();
  expect(await groupsOf('root')).toContain(0);
  expect(await usersOfGroup(0)).toContain('root');
});

test('two set-ups at once: the one that comes second uses the user of the first', async () => {
  failure = new Error("useradd failed with exit code 9: user 'mayfly' already exists");
  groups.set('mayfly', ownGroup);
  const racing: UserDatabase = {
    ...database,
    find: (name) => Promise.resolve(calls.length > 0 ? nobodyElse : users.get(name)),
  };
  expect(await ensureServiceUser(announcer, racing)).toEqual(nobodyElse);
  expect(printed).toEqual([]);
});

test('if it cannot be created, the message says why and what to do', async () => {
  failure = new Error('useradd failed with exit code 1: cannot lock /etc/passwd');
  await expect(ensureServiceUser(announcer, database)).rejects.toThrow(
    /cannot lock .*Create it, then try again: useradd/,
  );
});

test('the user that set-up created is found until it is removed', async () => {
  await ensureServiceUser(announcer, database);
  expect(await findCreatedUser(database)).toMatchObject({ uid: 998 });
  users.delete('mayfly');
  expect(await findCreatedUser(database)).toBeUndefined();
});
