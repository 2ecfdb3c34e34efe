import { statfsSync } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { runProgram } from '#server/system/run-program.ts';
import { call, createSandbox, output, type SandboxBody } from '../support/api-requests.ts';
import { unlimitedRates } from '../support/service-settings.ts';
import { mountSmallFileSystem, type SmallFileSystem } from '../support/small-file-system.ts';
import { listSnapshots, type SnapshotBody, takeSnapshot } from '../support/snapshots.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { askWitness, startWitness } from '../support/witness.ts';

const mib = 1024 ** 2;
const reserveMib = 400;
/** Enough that the save is still running when the disk has been filled. */
const ballastMib = 300;

let fileSystem: SmallFileSystem;
let service: TestService;
let sandbox: SandboxBody;
/** A snapshot of the sandbox, and a copy made from it, which runs. */
let taken: SnapshotBody;
let copy: SandboxBody;
beforeAll(async () => {
  // A different file system from the cache: the first save copies the template.
  fileSystem = await mountSmallFileSystem(9_000);
  service = await startTestService({
    ...unlimitedRates,
    MAYFLY_DATA_DIR: fileSystem.path,
    MAYFLY_DISK_RESERVE_MB: String(reserveMib),
    MAYFLY_LOG_LEVEL: 'error',
  });
  sandbox = await createSandbox(service, { timeout_minutes: 120 });
  await startWitness(service, sandbox.id, { ballastMib });
});
afterAll(async () => {
  try {
    await service?.stop();
  } finally {
    await fileSystem?.[Symbol.asyncDispose]();
  }
});

const freeBytes = () => {
  const { bavail, bsize } = statfsSync(fileSystem.path);
  return bavail * bsize;
};

/** Takes space at once until this much is left, or nearly none. Returns a function that gives it back. */
async function fillUpTo(leftBytes: number): Promise<() => Promise<void>> {
  const folder = join(fileSystem.path, 'filler');
  const release = () => rm(folder, { recursive: true, force: true });
  onTestFinished(release);
  await mkdir(folder);
  // fallocate writes nothing, so it takes no time. Others take space meanwhile: what they may need is left to the next file.
  for (let part = 0; part < 20 && freeBytes() > leftBytes + mib; part += 1) {
    const bytes = Math.ceil((freeBytes() - leftBytes) * 0.95);
    await runProgram('fallocate', ['-l', String(bytes), join(folder, String(part))]).catch(() => {});
  }
  return release;
}

/** Fails unless these are the only snapshots, no file of another save is left, and the sandbox goes on. */
async function expectSnapshots(snapshotIds: readonly string[]): Promise<void> {
  expect((await listSnapshots(service)).map(({ id }) => id)).toEqual(snapshotIds);
  const machine = join(fileSystem.path, 'machines', sandbox.id);
  await expect.poll(() => readdir(join(fileSystem.path, 'snapshots'))).toEqual(snapshotIds);
  await expect.poll(async () => (await readdir(machine)).filter((name) => name.startsWith('memory'))).toEqual([]);
  expect(await askWitness(service, sandbox.id, 'state')).toMatchObject({ ballast_intact: true });
}

const take = () => call(service, 'POST', `/sandboxes/${sandbox.id}/snapshots`);

/** Fills the disk in the middle of a save, which fails. */
async function fillDuringSave(): Promise<void> {
  const memory = join(fileSystem.path, 'machines', sandbox.id, 'memory');
  const taking = take();
  await expect
    .poll(async () => (await stat(memory).catch(() => ({ blocks: 0 }))).blocks, { interval: 5 })
    .toBeGreaterThan(0);
  const release = await fillUpTo(0);
  const failed = await taking;
  expect(failed.status).toBe(503);
  await release();
}

async function expectRunning({ id }: SandboxBody): Promise<void> {
  expect(((await (await call(service, 'GET', `/sandboxes/${id}`)).json()) as SandboxBody).status).toBe('running');
}

it('a snapshot that would touch the reserve is refused before anything is written', async () => {
  const release = await fillUpTo(1.6 * reserveMib * mib);
  const refused = await take();
  expect([refused.status, ((await refused.json()) as { error: { type: string } }).error.type]).toEqual([
    503,
    'capacity_unavailable',
  ]);
  await release();
  await expectSnapshots([]);
});

it('a disk that fills up in the middle of a save fails the save, and neither the sandbox nor anything else', async () => {
  await fillDuringSave();
  await expectSnapshots([]);
  await expectRunning(sandbox);
});

it('with room again, the next save succeeds, and its copy is whole', async () => {
  await output(service, sandbox.id, 'sync');
  taken = await takeSnapshot(service, sandbox.id);
  console.log(`${Math.round(taken.bytes / mib)} MiB on disk with ${ballastMib} MiB of random bytes in memory`);
  copy = await createSandbox(service, { snapshot_id: taken.id });
  expect(await askWitness(service, copy.id, 'state')).toMatchObject({ ballast_intact: true });
  expect(await output(service, copy.id, 'echo ready')).toBe('ready');
});

it('a save that fails because the disk is full takes nothing from an earlier snapshot and its copy, with which it shares files', async () => {
  // A guest that has something to write while the disk of the host is full gets an error.
  for (const { id } of [sandbox, copy]) await output(service, id, 'sync');
  await fillDuringSave();
  await expectSnapshots([taken.id]);
  for (const each of [sandbox, copy]) await expectRunning(each);
  const sum = await output(service, sandbox.id, 'cksum < witness.py');
  const another = await createSandbox(service, { snapshot_id: taken.id });
  for (const { id } of [copy, another]) {
    expect(await askWitness(service, id, 'state')).toMatchObject({ ballast_intact: true, connected: true });
    // From the layers of the disk, not from the guest's memory.
    expect(await output(service, id, 'dd if=witness.py iflag=direct bs=64K status=none | cksum')).toBe(sum);
  }
});
