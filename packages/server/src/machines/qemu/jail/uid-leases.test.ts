import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { UidLeases, type UidRange } from './uid-leases.ts';

let base = '';
let range: UidRange;
let leases: UidLeases;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'mayfly-uids-'));
  range = { databasePath: join(base, 'run', 'uids.db'), firstUid: 2_100_000, slots: 40 };
  leases = new UidLeases('/data', range);
});
afterEach(() => rm(base, { recursive: true }));

function inDatabase<T>(work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(range.databasePath, { timeout: 5_000 });
  try {
    return work(db);
  } finally {
    db.close();
  }
}

function leasedUids(): unknown[] {
  const rows = inDatabase((db) => db.prepare('SELECT uid FROM lease ORDER BY uid').all());
  return rows.map(({ uid }) => uid);
}

/** Rewrites a lease as one of a host process that has ended. */
function disown(uid: number): void {
  const statement = "UPDATE lease SET holder = json_set(holder, '$.startTicks', 1) WHERE uid = ?";
  inDatabase((db) => db.prepare(statement).run(uid));
}

/** Arguments of Node for a process that runs the code with leases of this test's database. */
function withLeases(code: string): string[] {
  const module = JSON.stringify(join(import.meta.dirname, 'uid-leases.ts'));
  const setup = `
    import { UidLeases } from ${module};
    const leases = new UidLeases('/other', ${JSON.stringify(range)});`;
  return ['--input-type=module', '-e', setup + code];
}

it('leases every machine a uid of its own and takes it back', () => {
  const [first, second] = [leases.acquire(), leases.acquire()];
  expect(first).toMatchObject({ slot: 0, uid: 2_100_000, gid: 2_100_000 });
  expect(second).toMatchObject({ slot: 1, uid: 2_100_001, gid: 2_100_001 });
  leases.release(first);
  leases.release(first);
  expect(leases.acquire().uid).toBe(first.uid);
  leases.release(first);
  expect(leasedUids()).toEqual([2_100_000, 2_100_001]);
});

it('fails when all are taken, and reclaims leases of ended host processes before that', () => {
  const single = new UidLeases('/data', { ...range, slots: 1 });
  const { uid } = single.acquire();
  expect(() => single.acquire()).toThrow('All 1 user ids');
  disown(uid);
  expect(single.acquire().uid).toBe(uid);
});

it('never leases one uid to two host processes', async () => {
  const code = `
    const mine = [];
    for (let i = 0; i < 10; i += 1) {
      const lease = leases.acquire();
      if (i % 2) mine.push(lease.uid); else leases.release(lease);
    }
    console.log(JSON.stringify(mine));`;
  const started = Array.from({ length: 4 }, () => promisify(execFile)(process.execPath, withLeases(code)));
  const uids = (await Promise.all(started)).flatMap(({ stdout }): number[] => JSON.parse(stdout));
  expect(uids).toHaveLength(20);
  expect(leasedUids()).toEqual(uids.toSorted((a, b) => a - b));
}, 30_000);

it('reclaims every uid of a host process that was killed, at whatever moment', async () => {
  const code = `
    leases.acquire();
    console.log('started');
    for (;;) leases.release(leases.acquire());`;
  for (let round = 0; round < 3; round += 1) {
    const child = spawn(process.execPath, withLeases(code), { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await exited;
    expect(leases.reclaim()).toContain(2_100_000);
    expect(leasedUids()).toEqual([]);
  }
}, 30_000);

it('keeps a lease while its host process runs or a process runs under its uid', () => {
  leases.acquire();
  expect(leases.reclaim()).toEqual([]);
  const ownUid = new UidLeases('/data', { ...range, firstUid: process.getuid?.() ?? 0, slots: 1 });
  // This test runs under the uid, so that it is not even leased.
  expect(() => ownUid.acquire()).toThrow('All 1 user ids');
  const adopted = { slot: 0, uid: process.getuid?.() ?? 0, gid: 0, token: 'of an earlier version' };
  ownUid.adopt(adopted);
  disown(adopted.uid);
  expect(ownUid.reclaim()).toEqual([]);
});

it('takes over the lease of a running machine, also one that is in no database', () => {
  const lease = leases.acquire();
  disown(lease.uid);
  leases.adopt(lease);
  expect(leases.reclaim()).toEqual([]);
  expect(() => leases.adopt({ ...lease, token: 'another' })).toThrow('leased to another machine');
  const unknown = { slot: 1, uid: 2_100_001, gid: 2_100_001, token: 'unknown' };
  leases.adopt(unknown);
  expect(leases.acquire().uid).toBe(2_100_002);
  leases.release(unknown);
  expect(leases.acquire().uid).toBe(2_100_001);
});
