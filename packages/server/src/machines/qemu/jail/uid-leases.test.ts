import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, rmdir, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { UidLeases, type UidRange } from './uid-leases.ts';
import { parseUids, uidsInUse } from './uids-in-use.ts';

let base = '';
let machine = '';
let range: UidRange;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'mayfly-uids-'));
  machine = join(base, 'machine');
  await mkdir(machine);
  range = { folder: join(base, 'run', 'uids'), firstUid: 2_100_000, slots: 40 };
});
afterEach(() => rm(base, { recursive: true }));

/** Rewrites a lease as one of a service that has ended. */
const disown = async (uid: number): Promise<void> => {
  const path = join(range.folder, String(uid));
  const lease = JSON.parse(await readFile(path, 'utf8'));
  await writeFile(path, `${JSON.stringify({ ...lease, owner: { ...lease.owner, startTicks: 1 } })}\n`);
};

it('gives every machine a uid of its own and takes it back', async () => {
  const leases = new UidLeases(range);
  const [first, second] = [leases.acquire('/a'), leases.acquire('/b')];
  expect(first).toMatchObject({ slot: 0, uid: 2_100_000, gid: 2_100_000 });
  expect(second).toMatchObject({ slot: 1, uid: 2_100_001, gid: 2_100_001 });
  await leases.release(first);
  await leases.release(first);
  expect(leases.acquire('/c').uid).toBe(first.uid);
  await leases.release(first);
  expect((await readdir(range.folder)).toSorted()).toEqual(['2100000', '2100001']);
});

it('says so when all are taken', () => {
  const leases = new UidLeases({ ...range, slots: 1 });
  leases.acquire('/a');
  expect(() => leases.acquire('/b')).toThrow('all 1 user ids');
});

it('never gives one uid to two services', async () => {
  const script = `
    import { UidLeases } from ${JSON.stringify(join(import.meta.dirname, 'uid-leases.ts'))};
    const leases = new UidLeases(${JSON.stringify(range)});
    const mine = [];
    for (let i = 0; i < 10; i += 1) {
      const lease = leases.acquire('/a');
      if (i % 2) mine.push(lease.uid); else await leases.release(lease);
    }
    console.log(JSON.stringify(mine));`;
  const started = Array.from({ length: 4 }, () =>
    promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]),
  );
  const uids = (await Promise.all(started)).flatMap(({ stdout }): number[] => JSON.parse(stdout));
  expect(uids).toHaveLength(20);
  expect(new Set(uids).size).toBe(20);
  expect((await readdir(range.folder)).toSorted()).toEqual(uids.map(String).toSorted());
}, 30_000);

it('finds the uid of a machine that another service started', () => {
  const lease = new UidLeases(range).acquire(machine);
  expect(new UidLeases(range).find(machine)).toEqual(lease);
  expect(new UidLeases(range).find('/other')).toBeUndefined();
  expect(new UidLeases({ ...range, folder: '/nowhere' }).find(machine)).toBeUndefined();
});

it('frees only what belongs to a machine that is gone and a service that has ended', async () => {
  const leases = new UidLeases(range);
  const [gone, kept] = [leases.acquire(machine), leases.acquire(base)];
  leases.acquire('/nowhere');
  await disown(gone.uid);
  await disown(kept.uid);
  expect(await leases.reclaim()).toEqual([]);
  await rmdir(machine);
  expect(await leases.reclaim()).toEqual([gone.uid]);
  expect(existsSync(join(range.folder, String(gone.uid)))).toBe(false);
  expect(await leases.reclaim()).toEqual([]);
});

it('does not free a uid that a process still runs under', async () => {
  const leases = new UidLeases({ ...range, firstUid: process.getuid?.() ?? 0, slots: 1 });
  await disown(leases.acquire('/nowhere').uid);
  expect(await leases.reclaim()).toEqual([]);
});

it('frees a lease whose writer died over it, but none that is just being written', async () => {
  const leases = new UidLeases(range);
  await mkdir(range.folder, { recursive: true });
  for (const uid of ['2100000', '2100001']) await writeFile(join(range.folder, uid), '{"tok');
  await utimes(join(range.folder, '2100001'), 1, 1);
  expect(await leases.reclaim()).toEqual([2_100_001]);
  expect(leases.acquire('/a').uid).toBe(2_100_001);
});

it('reads all user ids of a process', () => {
  expect(parseUids('Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t5\t5\t5\n')).toEqual([1, 2, 3, 4]);
  expect(parseUids('')).toEqual([]);
  expect(uidsInUse()).toContain(process.getuid?.());
});
