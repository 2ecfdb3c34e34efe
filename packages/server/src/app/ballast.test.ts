import { existsSync } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openBallast } from './ballast.ts';

const mebibyte = 1024 ** 2;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-ballast-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('the ballast occupies disk space until it is released, and the next start finds it', async () => {
  const ballast = openBallast(folder, 16 * mebibyte);
  expect([ballast.isHeld, ballast.sizeBytes]).toEqual([false, 2 * mebibyte]);
  await ballast.hold();
  expect((await stat(join(folder, 'ballast'))).blocks * 512).toBeGreaterThanOrEqual(2 * mebibyte);
  expect(openBallast(folder, 16 * mebibyte).isHeld).toBe(true);
  await ballast.release();
  expect([ballast.isHeld, existsSync(join(folder, 'ballast'))]).toEqual([false, false]);
});

test('it has a ceiling, and there is none without a reserve', () => {
  expect(openBallast(folder, 100 * 1024 * mebibyte).sizeBytes).toBe(64 * mebibyte);
  expect(openBallast(folder, 0)).toMatchObject({ sizeBytes: 0, isHeld: true });
});

test('a folder that cannot hold it: an error and nothing left', async () => {
  const ballast = openBallast(join(folder, 'missing'), 16 * mebibyte);
  await expect(ballast.hold()).rejects.toThrow('ENOENT');
  expect(ballast.isHeld).toBe(false);
});
