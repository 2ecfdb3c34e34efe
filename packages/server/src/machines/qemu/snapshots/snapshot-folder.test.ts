import { link, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { pinoLog } from '../../../../test/machines/pino-log.ts';
import { SnapshotUnusable } from '../../../core/ports/machine-driver.ts';
import { linkRestoreFiles, readRestoreFiles, restoreFilesIn } from './restore-files.ts';
import { SnapshotFolders, type SnapshotManifest } from './snapshot-folder.ts';

let folder = '';
let snapshots: SnapshotFolders;
const { log, lines } = pinoLog();
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-snapshots-'));
  snapshots = new SnapshotFolders(folder);
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const counts = { ramLayers: 2, diskLayers: 3 };
function manifest(id: string): SnapshotManifest {
  const host = { arch: 'arm64', acceleration: 'tcg', machineType: 'virt-10.0', qemuVersion: '10.0.2', cpuModel: 'max' };
  return { ...host, ...counts, id, size: 'small', hostCpu: null, deviceModel: 'abc', createdAtMs: 1 };
}

/** A snapshot whose files contain their own names. */
async function save(id: string): Promise<void> {
  const partial = await snapshots.reserve(id);
  const files = restoreFilesIn(partial, counts);
  const paths = [...files.ramPaths, ...files.diskPaths, files.statePath, files.planPath ?? '', files.emptyLayerPath];
  for (const path of paths) await writeFile(path, path);
  await snapshots.publish(manifest(id));
}

test('a snapshot is listed once it is complete, with the files that are not the template’s', async () => {
  expect(await snapshots.list()).toEqual([]);
  await snapshots.reserve('snap_half');
  await save('snap_b');
  await save('snap_a');
  const listed = await snapshots.list();
  expect(listed.map(({ id, size }) => [id, size])).toEqual([
    ['snap_a', 'small'],
    ['snap_b', 'small'],
  ]);
  const own = ['ram.1', 'disk.2', 'state', 'ram.plan', 'snapshot.json'];
  const ids = await Promise.all(own.map(async (name) => idOf(join(folder, 'snap_a', name))));
  expect(listed[0]?.files.map(({ id }) => id).sort()).toEqual(ids.sort());
  for (const { bytes } of listed[0]?.files ?? []) expect(bytes).toBeGreaterThan(0);
});

async function idOf(path: string): Promise<string> {
  const { dev, ino } = await stat(path);
  return `${dev}:${ino}`;
}

test('snapshots that share a layer list it under the same id, and each keeps it when the other is deleted', async () => {
  await save('snap_a');
  await save('snap_b');
  await rm(join(folder, 'snap_b', 'ram.1'));
  await link(join(folder, 'snap_a', 'ram.1'), join(folder, 'snap_b', 'ram.1'));
  const shared = await idOf(join(folder, 'snap_a', 'ram.1'));
  for (const { files } of await snapshots.list()) expect(files.map(({ id }) => id)).toContain(shared);
  await snapshots.delete('snap_a');
  await snapshots.delete('snap_a');
  expect(await readdir(folder)).toEqual(['snap_b']);
  expect(await idOf(join(folder, 'snap_b', 'ram.1'))).toBe(shared);
});

test('one id is saved once', async () => {
  await snapshots.reserve('snap_a');
  await expect(snapshots.reserve('snap_a')).rejects.toThrow('The snapshot snap_a is being saved already.');
  await snapshots.discard('snap_a');
  await save('snap_a');
  await expect(snapshots.reserve('snap_a')).rejects.toThrow('There is already a snapshot snap_a.');
  expect(await readdir(folder)).toEqual(['snap_a']);
});

test('of several saves under one id, one at most gets it, also while another completes', async () => {
  for (let round = 0; round < 20; round += 1) {
    const saves = Array.from({ length: 4 }, () => save('snap_a'));
    const ended = await Promise.allSettled(saves);
    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await readdir(folder)).toEqual(['snap_a']);
    await snapshots.delete('snap_a');
  }
});

test('what was not finished is removed when the folder is opened, and what is complete stays', async () => {
  await save('snap_a');
  await snapshots.reserve('snap_half');
  await mkdir(join(folder, 'snap_b.deleted'));
  await snapshots.open(log);
  expect(await readdir(folder)).toEqual(['snap_a']);
  expect(lines().at(-1)).toMatchObject({ folders: ['snap_b.deleted', 'snap_half.partial'] });
});

test('a snapshot that is missing, damaged or of a newer Mayfly cannot be used, and says so', async () => {
  await expect(snapshots.read('snap_a')).rejects.toBeInstanceOf(SnapshotUnusable);
  await expect(snapshots.read('snap_a')).rejects.toThrow('There is no snapshot snap_a on this host.');
  await expect(snapshots.read('../machines')).rejects.toThrow('is not the id of a snapshot');
  await mkdir(join(folder, 'snap_a'));
  const path = join(folder, 'snap_a', 'snapshot.json');
  await writeFile(path, '{"version":1}');
  await expect(snapshots.read('snap_a')).rejects.toThrow('The snapshot snap_a is damaged');
  await writeFile(path, JSON.stringify({ version: 99, ...manifest('snap_a') }));
  await expect(snapshots.read('snap_a')).rejects.toThrow('was saved by a newer Mayfly');
  await expect(snapshots.delete('../machines')).rejects.toThrow('not the id of a snapshot');
});

/** The description of a snapshot as it is on the disks of operators. Do not change it: newer versions of Mayfly have to read it too. */
const version1 = `{
  "version": 1,
  "arch": "arm64",
  "acceleration": "tcg",
  "machineType": "virt-10.0",
  "qemuVersion": "10.0.2",
  "cpuModel": "max",
  "ramLayers": 2,
  "diskLayers": 3,
  "id": "snap_a",
  "size": "small",
  "hostCpu": null,
  "deviceModel": "abc",
  "createdAtMs": 1
}
`;

test('a snapshot that an earlier Mayfly saved is read after an upgrade, and this one writes the same fields', async () => {
  await save('snap_a');
  const path = join(folder, 'snap_a', 'snapshot.json');
  expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(JSON.parse(version1));
  await writeFile(path, version1);
  expect(await snapshots.read('snap_a')).toEqual({
    manifest: manifest('snap_a'),
    files: restoreFilesIn(join(folder, 'snap_a'), counts),
  });
});

test('a field that a newer Mayfly added without a new version is ignored', async () => {
  await save('snap_a');
  const path = join(folder, 'snap_a', 'snapshot.json');
  await writeFile(path, version1.replace('{', '{ "added": { "later": true },'));
  expect((await snapshots.read('snap_a')).manifest).toEqual(manifest('snap_a'));
});

test('a machine keeps links to the files that it was launched from', async () => {
  await save('snap_a');
  const { files } = await snapshots.read('snap_a');
  const origin = join(folder, 'origin');
  const linked = await linkRestoreFiles(files, origin);
  await snapshots.delete('snap_a');
  expect(await readRestoreFiles(origin)).toEqual(linked);
  expect([linked.ramPaths.length, linked.diskPaths.length]).toEqual([2, 3]);
  expect(await readRestoreFiles(join(folder, 'nowhere'))).toBeUndefined();
  await expect(linkRestoreFiles(files, join(folder, 'late'))).rejects.toMatchObject({ code: 'ENOENT' });
});

test('a snapshot that only a newer Mayfly can read, or that is damaged, is listed and not launched', async () => {
  await save('snap_newer');
  await save('snap_damaged');
  await writeFile(
    join(folder, 'snap_newer', 'snapshot.json'),
    JSON.stringify({ version: 99, ...manifest('snap_newer') }),
  );
  await writeFile(join(folder, 'snap_damaged', 'snapshot.json'), '{');
  expect((await snapshots.list()).map(({ id }) => id)).toEqual(['snap_damaged', 'snap_newer']);
  for (const id of ['snap_newer', 'snap_damaged']) await expect(snapshots.read(id)).rejects.toThrow(SnapshotUnusable);
});

test('a snapshot that cannot be read at the moment fails the list instead of missing in it', async () => {
  await save('snap_a');
  await rm(join(folder, 'snap_a', 'snapshot.json'));
  await mkdir(join(folder, 'snap_a', 'snapshot.json'));
  await expect(snapshots.list()).rejects.toThrow('EISDIR');
});
