import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { planBuild } from '../artifacts.ts';
import { ensureEntry } from './entry.ts';
import { beginGuestUpdate, builtAtMs, describeAge, finishGuestUpdate, readGuestUpdate } from './guest-update.ts';

let cacheDir: string;
beforeEach(() => {
  cacheDir = mkdtempSync(join(tmpdir(), 'mayfly-update-'));
});
afterEach(() => rmSync(cacheDir, { recursive: true }));

const dayMs = 86_400_000;
const plan = async (guestUpdate?: string) =>
  await planBuild('arm64', {
    go: { identity: 'go-test', hostCommand: undefined },
    ...(guestUpdate !== undefined && { guestUpdate }),
  });

test('an update rebuilds kernel, image and what is made of them, although their recipes are the same, and nothing else', async () => {
  const before = await plan();
  expect(await plan('')).toEqual(before);
  const after = await plan(await beginGuestUpdate(cacheDir));
  for (const part of ['kernel', 'disks', 'initramfs'] as const) expect(after[part].key).not.toBe(before[part].key);
  for (const part of ['agent', 'jail', 'net'] as const) expect(after[part]).toEqual(before[part]);
});

test('set-ups use an update only once it is finished', async () => {
  expect(await readGuestUpdate(cacheDir)).toBe('');
  const update = await beginGuestUpdate(cacheDir);
  expect(await readGuestUpdate(cacheDir)).toBe('');
  await finishGuestUpdate(cacheDir);
  expect(await readGuestUpdate(cacheDir)).toBe(update);
  expect(existsSync(join(cacheDir, 'guest-update.pending'))).toBe(false);
});

test('an interrupted update is continued, unless it is more than a day old', async () => {
  const update = await beginGuestUpdate(cacheDir);
  expect(await beginGuestUpdate(cacheDir)).toBe(update);
  const later = Date.now() + 2 * dayMs;
  expect(await beginGuestUpdate(cacheDir, later)).toBe(new Date(later).toISOString());
});

test('the age counts from when the older part was built, not from when it was last used', async () => {
  const entry = { kind: 'kernel', key: '00000000000000aa' };
  const beforeMs = Date.now();
  const path = await ensureEntry(entry, { cacheDir, build: async () => {} });
  await utimes(join(path, 'manifest.json'), 0, 0);
  const built = await builtAtMs(cacheDir, [entry]);
  expect(built).toBeGreaterThanOrEqual(beforeMs);
  expect(built).toBeLessThanOrEqual(Date.now());
});

test('a guest of 30 days is not old, one of 31 days is, and the warning names the command', () => {
  expect(describeAge(0, 30 * dayMs + 5)).toBeUndefined();
  expect(describeAge(0, 31 * dayMs)).toMatch(/31 days old .* npm run update-guest$/);
});
