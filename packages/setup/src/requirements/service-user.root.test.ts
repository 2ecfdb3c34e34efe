import { chownSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removeServiceUser, type UserDatabase } from './service-user.ts';

test('with the user, its files in a kept data folder become root’s, and no others', async () => {
  const user = { uid: 998, gid: 997, comment: '', home: '/', shell: '/usr/sbin/nologin' };
  const calls: string[] = [];
  const database: UserDatabase = {
    find: async () => user,
    findGroup: async () => undefined,
    groupsOf: async () => [],
    usersOfGroup: async () => [],
    run: async (program, args) => void calls.push([program, ...args].join(' ')),
  };
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-user-'));
  try {
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
    expect(calls).toEqual(['userdel mayfly']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
