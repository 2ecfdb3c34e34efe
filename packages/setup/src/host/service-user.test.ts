import { chownSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SystemUser } from '@mayfly/server/machines';
import { beforeEach, expect, test } from 'vitest';
import { ensureServiceUser, findCreatedUser, removeServiceUser, type UserDatabase } from './service-user.ts';

let users: Map<string, SystemUser>;
let calls: string[];
let printed: string[];
let failure: Error | undefined;
const nobodyElse: SystemUser = { uid: 998, gid: 997, comment: '', home: '/', shell: '/usr/sbin/nologin' };
const announcer = { line: (line: string) => void printed.push(line) };
const database: UserDatabase = {
  find: (name) => Promise.resolve(users.get(name)),
  run: (program, args) => {
    calls.push([program, ...args].join(' '));
    if (failure) return Promise.reject(failure);
    const name = args.at(-1) ?? '';
    const option = (wanted: string) => args[args.indexOf(wanted) + 1] ?? '';
    if (program === 'userdel') users.delete(name);
    else users.set(name, { ...nobodyElse, comment: option('--comment'), shell: option('--shell') });
    return Promise.resolve();
  },
};
beforeEach(() => {
  users = new Map();
  [calls, printed, failure] = [[], [], undefined];
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

test('two set-ups at once: the one that comes second uses the user of the first', async () => {
  failure = new Error("useradd failed with exit code 9: user 'mayfly' already exists");
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

test.runIf(process.getuid?.() === 0)(
  'with the user, its files in a kept data folder become root’s, and no others',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mayfly-user-'));
    try {
      await ensureServiceUser(announcer, database);
      const user = await findCreatedUser(database);
      if (!user) throw new Error('it was not recognised');
      const outside = join(folder, 'outside');
      const service = join(folder, 'data/service');
      mkdirSync(join(service, 'preview-authority'), { recursive: true });
      for (const path of [outside, join(service, 'mayfly.db'), join(service, 'preview-authority/root.key')]) {
        writeFileSync(path, '');
        chownSync(path, user.uid, user.gid);
      }
      for (const path of [service, join(service, 'preview-authority')]) chownSync(path, user.uid, user.gid);
      symlinkSync(outside, join(service, 'link'));
      await removeServiceUser(user, join(folder, 'data'), database);
      for (const name of ['', 'mayfly.db', 'preview-authority', 'preview-authority/root.key']) {
        expect(lstatSync(join(service, name))).toMatchObject({ uid: 0, gid: 0 });
      }
      expect(lstatSync(outside).uid).toBe(user.uid);
      expect(calls.at(-1)).toBe('userdel mayfly');
      expect(await findCreatedUser(database)).toBeUndefined();
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
