import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  type MachineRecord,
  NewerMachineRecord,
  readMachineRecord,
  updateMachineRecord,
  writeMachineRecord,
} from './machine-folder.ts';

const record: MachineRecord = {
  id: 'sbx_one',
  size: 'small',
  lease: { slot: 3, uid: 2_000_003, gid: 2_000_003, token: 'token' },
  process: { pid: 4711, startTicks: 815, bootId: 'boot' },
};

let folder = '';
let path = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-record-'));
  path = join(folder, 'machine.json');
});
afterEach(() => rm(folder, { recursive: true }));

const versionOf = async () => (JSON.parse(await readFile(path, 'utf8')) as { version?: number }).version;

it('reads what it wrote, and records without a version', async () => {
  await writeMachineRecord(path, record);
  expect(await readMachineRecord(path)).toEqual(record);
  expect(await versionOf()).toBe(2);
  await writeFile(path, JSON.stringify(record));
  expect(await readMachineRecord(path)).toEqual(record);
});

it.each([undefined, 1])('writes a record of version %s in a version that earlier ones refuse', async (version) => {
  await writeFile(path, JSON.stringify({ version, ...record }));
  await updateMachineRecord(path, record);
  expect([await versionOf(), await readMachineRecord(path)]).toEqual([2, record]);
});

it('leaves a record of the present version as it is', async () => {
  await writeFile(path, JSON.stringify({ version: 2, ...record, added: 'later' }));
  await updateMachineRecord(path, record);
  expect(await readFile(path, 'utf8')).toContain('later');
});

it('ignores unknown fields', async () => {
  await writeFile(path, JSON.stringify({ version: 1, ...record, added: { by: 'a newer version' } }));
  expect(await readMachineRecord(path)).toEqual(record);
});

it.each(['', '{', '[]', '{"id":"sbx_one"}', '{"version":"x"}'])('ignores the malformed record %j', async (text) => {
  await writeFile(path, text);
  expect(await readMachineRecord(path)).toBeUndefined();
});

it('refuses a record of a newer Mayfly and says what to do', async () => {
  await writeFile(path, JSON.stringify({ version: 3, something: 'else' }));
  const error = await readMachineRecord(path).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(NewerMachineRecord);
  expect(String(error)).toContain('npm run destroy');
});

it('keeps what a copy of the machine needs, which the engine of a later Mayfly does not tell', async () => {
  const host = { arch: 'arm64', acceleration: 'tcg', machineType: 'virt-9.2', qemuVersion: '9.2.1', cpuModel: 'max' };
  const requirements = { ...host, size: 'small', hostCpu: null, deviceModel: 'abc' } as const;
  await writeMachineRecord(path, { ...record, requirements });
  expect((await readMachineRecord(path))?.requirements).toEqual(requirements);
});
