import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { open, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { pinoLog } from '../../../../test/machines/pino-log.ts';
import { readProcessIdentity } from '../jail/proc.ts';
import { UidLeases } from '../jail/uid-leases.ts';
import { NetworkRecords } from '../network/network-records.ts';
import { instanceOf, OwnerRecords } from './owner-records.ts';
import { type ReclaimParts, reclaimVanishedOwners } from './vanished-owners.ts';

let folder: string;
let databasePath: string;
let owners: OwnerRecords;
let leases: UidLeases;
let records: NetworkRecords;
let removedGroups: string[];
/** The processes in the only group of every data folder. */
let pids: number[];
let logged: ReturnType<typeof pinoLog>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-owners-'));
  databasePath = join(folder, 'uids.db');
  owners = new OwnerRecords(folder);
  records = new NetworkRecords(folder);
  leases = leasesOf('own');
  [removedGroups, pids, logged] = [[], [], pinoLog()];
});
afterEach(() => {
  leases[Symbol.dispose]();
  rmSync(folder, { recursive: true });
});

function leasesOf(name: string): UidLeases {
  return new UidLeases(join(folder, name), { databasePath, firstUid: 2_200_000, slots: 8 });
}

/** The data folder of a host process that ended and left one machine. */
async function endedHostProcess(name: string): Promise<string> {
  const dataDir = join(folder, name);
  mkdirSync(dataDir);
  await owners.register(dataDir);
  const ended = { ...readProcessIdentity(process.pid), startTicks: 1 };
  await writeFile(join(folder, 'owners', `${instanceOf(dataDir)}.json`), JSON.stringify({ dataDir, service: ended }));
  using other = leasesOf(name);
  const { slot, uid } = other.acquire();
  await records.write(slot, { owner: dataDir, egress: 'all', isApplied: true });
  using db = new DatabaseSync(databasePath);
  db.prepare('UPDATE lease SET holder = ? WHERE uid = ?').run(JSON.stringify(ended), uid);
  return dataDir;
}

async function reclaim(): Promise<string[]> {
  const parts: ReclaimParts = {
    dataDir: join(folder, 'own'),
    owners,
    leases,
    networks: {
      listOwners: () => records.listOwners(),
      slotsOf: (owner) => records.slotsOf(owner),
      reclaim: async (owner, slots) => {
        const own = (await records.slotsOf(owner)).filter((slot) => slots.has(slot));
        for (const slot of own) await records.remove(slot);
        return own.length;
      },
    },
    cgroupsOf: (dataDir) => ({
      list: async () => ['one'],
      pidsOf: async () => pids,
      remove: async (id) => void removedGroups.push(`${dataDir}/${id}`),
      removeEmptyParents: async () => {},
    }),
    processGroups: { remove: async (id) => void removedGroups.push(id) },
    log: logged.log,
  };
  await reclaimVanishedOwners(parts);
  return logged.lines().map(({ event }) => String(event));
}

it('removes everything that the host process of a deleted data folder left', async () => {
  const dataDir = await endedHostProcess('gone');
  await rm(dataDir, { recursive: true });
  expect(await reclaim()).toEqual(['vanished_owner_reclaimed']);
  expect(logged.lines()[0]).toMatchObject({ data_folder: dataDir, machines: ['one'], networks: 1, uids: [2_200_000] });
  expect(removedGroups).toEqual([`${dataDir}/one`, `service-${instanceOf(dataDir)}`]);
  expect([leases.dataFolders(), await records.listOwners(), await owners.list()]).toEqual([[], [], []]);
});

it('knows the owner of a network whose lease and record are gone, as earlier versions left it', async () => {
  const dataDir = await endedHostProcess('gone');
  await rm(dataDir, { recursive: true });
  await owners.remove(dataDir);
  leases.reclaim();
  expect(leases.dataFolders()).toEqual([]);
  expect(await reclaim()).toEqual(['vanished_owner_reclaimed']);
  expect(await records.listOwners()).toEqual([]);
  expect(leases.dataFolders()).toEqual([]);
});

it('touches nothing of a data folder that exists', async () => {
  await endedHostProcess('stopped');
  expect(await reclaim()).toEqual([]);
  expect(removedGroups).toEqual([]);
  expect(await records.listOwners()).toHaveLength(1);
});

it('touches nothing while the host process of the deleted folder runs', async () => {
  const dataDir = await endedHostProcess('running');
  await rm(dataDir, { recursive: true });
  await owners.register(dataDir);
  expect(await reclaim()).toEqual([]);
  await owners.remove(dataDir);
  using db = new DatabaseSync(databasePath);
  db.prepare('UPDATE lease SET holder = ?').run(JSON.stringify(readProcessIdentity(process.pid)));
  expect(await reclaim()).toEqual([]);
  expect(removedGroups).toEqual([]);
});

it('keeps machines that write to files which still exist: their folder was moved or is not mounted any more', async () => {
  const dataDir = await endedHostProcess('moved');
  await writeFile(join(dataDir, 'disk'), '');
  await using disk = await open(join(dataDir, 'disk'), 'r+');
  expect(disk.fd).toBeGreaterThan(0);
  pids = [process.pid];
  await rename(dataDir, join(folder, 'elsewhere'));
  expect(await reclaim()).toEqual(['missing_owner_kept']);
  expect(removedGroups).toEqual([]);
  expect(await records.listOwners()).toEqual([dataDir]);
});

it('leaves a slot alone that another host process has leased meanwhile', async () => {
  const dataDir = await endedHostProcess('gone');
  await rm(dataDir, { recursive: true });
  leases.reclaim();
  expect(leases.acquire().slot).toBe(0);
  await reclaim();
  expect(await records.slotsOf(dataDir)).toEqual([0]);
  expect(leases.dataFolders()).toEqual([join(folder, 'own')]);
});
