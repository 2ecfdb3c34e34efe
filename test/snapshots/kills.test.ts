import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { call, createSandbox, deleteSandbox, output, type Target } from '../support/api-requests.ts';
import { readNumber, readSandboxes } from '../support/chaos/database.ts';
import { leftovers, unexpectedResources } from '../support/chaos/held-resources.ts';
import { Random } from '../support/chaos/random.ts';
import { restartableOn } from '../support/chaos/restartable-on.ts';
import { chaosSeed } from '../support/chaos/run-chaos.ts';
import { length } from '../support/length.ts';
import { listSnapshots, type SnapshotBody, takeSnapshot } from '../support/snapshots.ts';
import { askWitness, startWitness } from '../support/witness.ts';

/** Each side and both are killed. */
const rounds = length(3, 30);
const settleMs = 120_000;
const unfinished = `select (select count(*) from sandboxes where status in ('provisioning', 'deleting'))
  + (select count(*) from executions where status = 'running') + (select count(*) from snapshots where status = 'creating')`;

/** Files that a save which did not end would leave in the folders of machines and bases. */
async function halfSaved(dataDir: string): Promise<readonly string[]> {
  const folders = ['machines', 'bases'].map((name) => readdir(join(dataDir, name), { recursive: true }));
  const names = (await Promise.all(folders)).flat();
  return names.filter((name) => /(?:^|\/)(?:memory|stopped)$|\.(?:new|old|partial)$/.test(name));
}

/** A request to a service that may be killed at any moment: its status, or that the connection was lost. */
async function attempt(target: Target, what: string, path: string, body?: unknown): Promise<string> {
  const method = what === 'delete' ? 'DELETE' : 'POST';
  const answered = call(target, method, path, body).then(({ status }) => status);
  return `${what} ${await answered.catch(() => 'lost')}`;
}

it('kills at random moments while snapshots are taken, copied, rolled back to and deleted lose no sandbox and leave no half snapshot', async () => {
  const seed = chaosSeed();
  const random = new Random(seed);
  const { service, database } = await restartableOn('SQLite', {
    MAYFLY_POOL: 'none',
    MAYFLY_LIMIT_SNAPSHOTS: '100',
    MAYFLY_LIMIT_CONCURRENT_SANDBOXES: '40',
  });
  const snapshotsDir = join(service.dataDir, 'snapshots');
  const [witness, undone] = await Promise.all([createSandbox(service), createSandbox(service)]);
  await startWitness(service, witness.id);
  for (const { id } of [witness, undone]) await output(service, id, 'echo kept > mark');
  const kept: SnapshotBody = await takeSnapshot(service, witness.id, { alias: 'kept' });
  const back = await takeSnapshot(service, undone.id);
  let counted = 0;
  /** A snapshot that an earlier round left. */
  let spare: string | undefined;
  const answers: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const doomed = spare ?? (await takeSnapshot(service, undone.id)).id;
    await output(service, undone.id, 'touch progress');
    const work = [
      attempt(service, 'take', `/sandboxes/${witness.id}/snapshots`),
      attempt(service, 'copy', '/sandboxes', { template: 'kept' }),
      attempt(service, 'fork', `/sandboxes/${witness.id}/fork`, { count: 1 }),
      attempt(service, 'roll back', `/sandboxes/${undone.id}/rollback`, { snapshot_id: back.id }),
      attempt(service, 'delete', `/snapshots/${doomed}`),
    ];
    await pause(random.between(0, 6_000));
    const side = (['both', 'host', 'service'] as const)[round % 3] ?? 'both';
    if (side === 'both') await service.kill();
    else expect(service.killOne(side)).toBe(true);
    const answered = await Promise.all(work);
    answers.push(`${side} killed: ${answered.join(', ')}`);
    if (side === 'both') await service.start();

    const health = async () => (await fetch(`${service.url}/healthz`).catch(() => ({ status: 0 }))).status;
    await expect
      .poll(async () => [await health(), await readNumber(database, unfinished)], { timeout: settleMs })
      .toEqual([200, 0]);
    // What is listed is complete and on disk, and nothing else is.
    const listed = (await listSnapshots(service)).map(({ id, status }) => [id, status]);
    expect(listed.every(([, status]) => status === 'ready')).toBe(true);
    const ids = listed.map(([id]) => id ?? '').toSorted();
    expect(ids).toEqual(expect.arrayContaining([kept.id, back.id]));
    spare = ids.find((id) => id !== kept.id && id !== back.id);
    await expect.poll(async () => (await readdir(snapshotsDir)).toSorted(), { timeout: settleMs }).toEqual(ids);
    const open = (await readSandboxes(database)).filter(({ status }) => status === 'running');
    expect(
      await unexpectedResources(
        service.dataDir,
        open.map(({ machineId }) => String(machineId)),
        0,
      ),
    ).toEqual([]);
    // Sandboxes go on, and what they share is there.
    const [state, mark, copy] = await Promise.all([
      askWitness(service, witness.id, 'state'),
      output(service, undone.id, 'cat mark'),
      createSandbox(service, { snapshot_id: kept.id }),
    ]);
    expect(state.ballast_intact).toBe(true);
    expect(state.counted).toBeGreaterThan(counted);
    counted = state.counted;
    expect(mark).toBe('kept');
    // A rollback that was confirmed has happened.
    if (answered.includes('roll back 200')) expect(await output(service, undone.id, 'ls')).not.toContain('progress');
    expect(await askWitness(service, copy.id, 'state')).toMatchObject({ ballast_intact: true, connected: true });
    if (ids.includes(doomed)) {
      const undeleted = await createSandbox(service, { snapshot_id: doomed });
      expect(await output(service, undeleted.id, 'cat mark')).toBe('kept');
      await deleteSandbox(service, undeleted.id);
    }
    expect(await halfSaved(service.dataDir)).toEqual([]);
    for (const { id } of open.filter(({ id }) => id !== witness.id && id !== undone.id)) {
      await deleteSandbox(service, id);
    }
    await deleteSandbox(service, copy.id);
  }
  console.log(`seed ${seed}\n${answers.join('\n')}`);
  await service.destroy();
  expect(await leftovers(service.dataDir)).toEqual([]);
  await service.remove();
}, 1_800_000);
