import { spawnSync } from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { withHostCapabilities } from '../machines/qemu/host-capabilities.ts';
import { splitDataFolder } from './data-layout.ts';

const user = { uid: 54_321, gid: 54_322 };

describe.runIf(process.getuid?.() === 0)('the data folder', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'mayfly-layout-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true }));

  const ownerOf = (path: string) => {
    const { uid, gid, mode } = statSync(join(dataDir, path));
    return [uid, gid, (mode & 0o777).toString(8)];
  };

  test('has a part of the service, which nobody else can enter', async () => {
    expect(await splitDataFolder(dataDir, user)).toMatchObject({
      serviceDir: join(dataDir, 'service'),
      runDir: join(dataDir, 'run'),
    });
    expect(ownerOf('service')).toEqual([54_321, 54_322, '700']);
  });

  test('of an earlier version is split: the service gets what is its own, and the machines stay', async () => {
    mkdirSync(join(dataDir, 'machines/sbx_1'), { recursive: true });
    mkdirSync(join(dataDir, 'preview-authority'));
    for (const name of [
      'lock',
      'lock-journal',
      'id',
      'mayfly.db',
      'mayfly.db-wal',
      'preview-authority/root.key',
      'machines/sbx_1/disk',
    ]) {
      writeFileSync(join(dataDir, name), name, { mode: 0o600 });
    }
    // Another interrupted move left this one behind already.
    mkdirSync(join(dataDir, 'service'));
    writeFileSync(join(dataDir, 'service/first-api-key'), 'key');
    await splitDataFolder(dataDir, user);
    expect(readdirSync(dataDir).toSorted()).toEqual(['lock', 'lock-journal', 'machines', 'run', 'service']);
    expect(readdirSync(join(dataDir, 'service')).toSorted()).toEqual([
      'first-api-key',
      'id',
      'mayfly.db',
      'mayfly.db-wal',
      'preview-authority',
    ]);
    expect(readFileSync(join(dataDir, 'service/mayfly.db'), 'utf8')).toBe('mayfly.db');
    expect(ownerOf('service/preview-authority/root.key')).toEqual([54_321, 54_322, '600']);
    expect(ownerOf('machines/sbx_1/disk')).toEqual([0, 0, '600']);
    expect(ownerOf('service/first-api-key')).toEqual([54_321, 54_322, '644']);
  });

  test('is prepared again with the capabilities of the host process only, as under systemd', async () => {
    await splitDataFolder(dataDir, user);
    const module = JSON.stringify(join(import.meta.dirname, 'data-layout.ts'));
    const code = `await (await import(${module})).splitDataFolder(${JSON.stringify(dataDir)}, ${JSON.stringify(user)})`;
    const [program, ...args] = withHostCapabilities([process.execPath, '--input-type=module', '-e', code]);
    const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });

  test('is not walked once the service owns its part, whatever the service puts there', async () => {
    await splitDataFolder(dataDir, user);
    // What the walk would reach through a folder that is exchanged for a link at the right moment.
    mkdirSync(join(dataDir, 'service/exchanged'));
    for (const name of ['service/exchanged/roots', 'service/roots']) writeFileSync(join(dataDir, name), '');
    // Restored by the operator from a backup.
    writeFileSync(join(dataDir, 'mayfly.db'), '', { mode: 0o600 });
    await splitDataFolder(dataDir, user);
    expect(ownerOf('service/mayfly.db')).toEqual([54_321, 54_322, '600']);
    for (const name of ['service/exchanged', 'service/exchanged/roots', 'service/roots']) {
      expect(ownerOf(name).slice(0, 2)).toEqual([0, 0]);
    }
  });

  test('with a database that the operator restored as root belongs to the service again', async () => {
    await splitDataFolder(dataDir, user);
    const restored = ['mayfly.db', 'mayfly.db-wal', 'id', 'secret-key'];
    for (const name of restored) writeFileSync(join(dataDir, 'service', name), '', { mode: 0o600 });
    await splitDataFolder(dataDir, user);
    for (const name of restored) {
      expect(ownerOf(`service/${name}`)).toEqual([54_321, 54_322, '600']);
    }
  });

  test('gives the service nothing by a link in place of its database', async () => {
    await splitDataFolder(dataDir, user);
    for (const name of ['roots-1', 'roots-2']) writeFileSync(join(dataDir, name), '', { mode: 0o600 });
    symlinkSync(join(dataDir, 'roots-1'), join(dataDir, 'service/mayfly.db'));
    linkSync(join(dataDir, 'roots-2'), join(dataDir, 'service/mayfly.db-wal'));
    mkdirSync(join(dataDir, 'service/mayfly.db-shm'), { mode: 0o700 });
    await splitDataFolder(dataDir, user);
    expect(ownerOf('roots-1')).toEqual([0, 0, '600']);
    expect(ownerOf('roots-2')).toEqual([0, 0, '600']);
    expect(ownerOf('service/mayfly.db-shm')).toEqual([0, 0, '700']);
  });

  test('is split by the next start if that was interrupted', async () => {
    mkdirSync(join(dataDir, 'service'), { mode: 0o700 });
    for (const name of ['service/id', 'mayfly.db']) writeFileSync(join(dataDir, name), '');
    await splitDataFolder(dataDir, user);
    for (const name of ['service/id', 'service/mayfly.db']) {
      expect(ownerOf(name).slice(0, 2)).toEqual([54_321, 54_322]);
    }
  });

  test('with two databases is refused, and nothing is lost', async () => {
    mkdirSync(join(dataDir, 'service'));
    for (const name of ['mayfly.db', 'service/mayfly.db']) writeFileSync(join(dataDir, name), name);
    await expect(splitDataFolder(dataDir, user)).rejects.toThrow('contains mayfly.db twice');
    expect(readFileSync(join(dataDir, 'mayfly.db'), 'utf8')).toBe('mayfly.db');
  });

  test('is given to the user by its present id, without following links that the service made', async () => {
    await splitDataFolder(dataDir, user);
    mkdirSync(join(dataDir, 'outside'), { mode: 0o755 });
    symlinkSync(join(dataDir, 'outside'), join(dataDir, 'service/link'));
    mkdirSync(join(dataDir, 'service/folder'));
    writeFileSync(join(dataDir, 'service/folder/file'), '');
    await splitDataFolder(dataDir, { uid: 54_999, gid: 54_999 });
    expect(ownerOf('service')).toEqual([54_999, 54_999, '700']);
    expect(ownerOf('service/folder/file')).toEqual([54_999, 54_999, '644']);
    expect(ownerOf('outside')).toEqual([0, 0, '755']);
  });
});
