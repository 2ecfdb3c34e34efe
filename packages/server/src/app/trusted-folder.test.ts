import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeUntrusted, trustedIds } from './trusted-folder.ts';

let folder: string;
let data: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-trusted-'));
  data = join(folder, 'data');
  mkdirSync(data);
  chmodSync(data, 0o755);
});
afterEach(() => rmSync(folder, { recursive: true }));

const trusted = trustedIds({});
const strangers = { uids: [4_000_001], gids: [4_000_001] };

test('a folder of root or of this user is trusted, also below /tmp and before it exists', () => {
  expect(describeUntrusted(data, trusted)).toBeUndefined();
  expect(describeUntrusted(join(data, 'a/b'), trusted)).toBeUndefined();
});

test('a folder that others own is named, with its owner', () => {
  expect(describeUntrusted(data, strangers)).toBe('/ belongs to the user with the id 0');
});

test('a folder that every user can write to is named, also above the path', () => {
  chmodSync(data, 0o757);
  expect(describeUntrusted(data, trusted)).toBe(`every user can write to ${data}`);
  expect(describeUntrusted(join(data, 'a/b'), trusted)).toBe(`every user can write to ${data}`);
});

test('a sticky folder may be above the path, but not be it', () => {
  chmodSync(data, 0o1777);
  expect(describeUntrusted(join(data, 'a'), trusted)).toBeUndefined();
  expect(describeUntrusted(data, trusted)).toBe(`every user can write to ${data}`);
});

test('a group that is not trusted must not be able to write', () => {
  chmodSync(data, 0o775);
  expect(describeUntrusted(data, trusted)).toBeUndefined();
  expect(describeUntrusted(data, { ...trusted, gids: strangers.gids })).toMatch(
    /^the group with the id \d+ can write to/,
  );
});

test('a link does not hide a folder', () => {
  chmodSync(data, 0o757);
  const link = join(folder, 'link');
  symlinkSync(data, link);
  expect(describeUntrusted(link, trusted)).toBe(`every user can write to ${data}`);
});

test('the user who ran sudo is trusted', () => {
  const env = { SUDO_UID: '4000001', SUDO_GID: '4000002' };
  expect(trustedIds(env)).toMatchObject({ uids: [...trusted.uids, 4_000_001], gids: [...trusted.gids, 4_000_002] });
});
