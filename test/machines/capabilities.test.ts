import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import {
  hostCapabilityMask,
  parseCapabilitySets,
  withHostCapabilities,
} from '#server/machines/qemu/host-capabilities.ts';
import { RpcChild } from '#server-test/network/rpc.ts';
import { hostState, leasedUids, leftSince } from '../support/host-state.ts';
import { machineProcesses } from '../support/machine-processes.ts';
import { preparedHost } from '../support/prepared-host.ts';

const workerPath = join(import.meta.dirname, '../support/machines-worker.ts');
const folders: string[] = [];
const workers: RpcChild[] = [];
afterAll(async () => {
  for (const worker of workers) await worker.kill();
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-capabilities-'));
  folders.push(folder);
  return folder;
}

/** Opens a driver in a process that has exactly the capabilities of the list. */
async function openDriver(dataDir: string): Promise<RpcChild> {
  const worker = new RpcChild(withHostCapabilities([process.execPath, workerPath]));
  workers.push(worker);
  await worker.ask('open', { host: preparedHost(), dataDir });
  return worker;
}

function run(worker: RpcChild, name: string, command: string) {
  return worker.ask<{ exitCode: number; stdout: string }>('run', { name, command });
}

it('the driver launches, runs, limits, saves, copies, adopts, reclaims and destroys machines with the capabilities of the list and no other', async () => {
  const before = await hostState();
  const dataDir = await newFolder();
  const first = await openDriver(dataDir);
  const status = await readFile(`/proc/${first.pid}/status`, 'utf8');
  const sets = parseCapabilitySets(status);
  console.log(JSON.stringify(sets));
  const ownSets = parseCapabilitySets(await readFile('/proc/self/status', 'utf8'));
  const listed = hostCapabilityMask(ownSets.CapBnd ?? '0');
  expect(sets).toMatchObject({ CapPrm: listed, CapEff: listed, CapBnd: listed });

  await first.ask('launch', { name: 'one' });
  expect((await run(first, 'one', 'true')).exitCode).toBe(0);
  await first.ask('setEgress', { name: 'one', egress: { allow: ['198.51.100.0/24', 'a.test'] } });
  expect((await run(first, 'one', 'id -un')).stdout).toBe('sandbox');
  await first.ask('save', { name: 'one', snapshot: 'snap_one' });
  await first.ask('launch', { name: 'copy', snapshotId: 'snap_one' });
  expect((await run(first, 'copy', 'id -un')).stdout).toBe('sandbox');
  await first.ask('close');
  await first.end();
  expect(await leftSince(before)).toEqual([]);

  const second = await openDriver(dataDir);
  await second.ask('launch', { name: 'two' });
  await second.kill();
  const third = await openDriver(dataDir);
  expect(await machineProcesses(dataDir)).toHaveLength(1);
  await third.kill();
  await rm(dataDir, { recursive: true });
  const other = await openDriver(await newFolder());
  expect(await machineProcesses(dataDir)).toEqual([]);
  expect(leasedUids(dataDir)).toEqual([]);
  await other.ask('close');
  await other.end();
  expect(await leftSince(before)).toEqual([]);
});
