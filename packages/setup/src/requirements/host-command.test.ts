import { mkdtemp, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { linkCommand, unlinkCommand } from './host-command.ts';

let binDir: string;
beforeEach(async () => {
  binDir = await mkdtemp(join(tmpdir(), 'mayfly-bin-'));
});
afterEach(() => rm(binDir, { recursive: true }));

const target = () => readlink(join(binDir, 'mayfly'));

test('the command is installed once, follows the checkout, and is removed', async () => {
  expect(await linkCommand(binDir, '/srv/mayfly')).toContain('is installed');
  expect(await linkCommand(binDir, '/srv/mayfly')).toBeUndefined();
  expect(await target()).toBe('/srv/mayfly/packages/cli/bin/mayfly.mjs');
  expect(await linkCommand(binDir, '/srv/other')).toContain('is installed');
  expect(await target()).toBe('/srv/other/packages/cli/bin/mayfly.mjs');
  expect([await unlinkCommand(binDir), await unlinkCommand(binDir)]).toEqual([true, false]);
});

test('a program of somebody else with that name is left alone', async () => {
  await writeFile(join(binDir, 'mayfly'), 'theirs');
  expect(await linkCommand(binDir, '/srv/mayfly')).toContain('is another program');
  expect(await unlinkCommand(binDir)).toBe(false);
  await rm(join(binDir, 'mayfly'));
  await symlink('/usr/bin/true', join(binDir, 'mayfly'));
  expect(await linkCommand(binDir, '/srv/mayfly')).toContain('is another program');
});

test('a folder that does not exist or may not be written is said, and nothing fails', async () => {
  expect(await linkCommand(join(binDir, 'none'), '/srv/mayfly')).toContain('could not be installed');
});
