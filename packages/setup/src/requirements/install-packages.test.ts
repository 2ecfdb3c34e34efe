import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { disableMainCluster, installedPackages, readAddedPackages, recordAddedPackages } from './install-packages.ts';

test('the package is told to create no server, whatever else is set', () => {
  expect(disableMainCluster('')).toBe('create_main_cluster = false\n');
  expect(disableMainCluster("# comment\ncreate_main_cluster = true\nstart_conf = 'auto'\n")).toBe(
    "# comment\nstart_conf = 'auto'\ncreate_main_cluster = false\n",
  );
  expect(disableMainCluster('#create_main_cluster = true\n')).toContain('\ncreate_main_cluster = false\n');
});

test('the record of added packages grows with every set-up', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-added-'));
  const cacheDir = join(folder, 'cache');
  expect(await readAddedPackages(cacheDir)).toEqual([]);
  await recordAddedPackages(cacheDir, ['qemu-utils', 'nftables']);
  await recordAddedPackages(cacheDir, ['chromium', 'nftables']);
  expect(await readAddedPackages(cacheDir)).toEqual(['chromium', 'nftables', 'qemu-utils']);
  await rm(folder, { recursive: true });
});

test('installed packages are read from dpkg', async () => {
  const installed = await installedPackages();
  // On a host without dpkg there are none.
  expect(installed.size === 0 || installed.has('dpkg')).toBe(true);
  expect(installed.has('no-such-package-of-mayfly')).toBe(false);
});
