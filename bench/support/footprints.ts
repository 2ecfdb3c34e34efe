import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { machinePids } from '../../test/support/machine-processes.ts';
import type { BenchHost } from './bench-host.ts';
import type { Footprint } from './table.ts';

const mib = 1024 ** 2;

/** What sandboxes of the service take of disk and memory at the moment. None of them may come from the pool: their machines have their ids. */
export async function measureFootprints(
  { folder }: Pick<BenchHost, 'folder'>,
  what: string,
  ids: readonly string[],
): Promise<Footprint[]> {
  const dataDir = join(folder, 'data');
  const pids = await machinePids(dataDir);
  return [
    {
      name: `own bytes on disk of a ${what}`,
      eachMib: await Promise.all(ids.map((id) => ownMibOnDisk(join(dataDir, 'machines', id)))),
    },
    {
      name: `private memory of a ${what}`,
      eachMib: await Promise.all(ids.map((id) => privateMibOf(pids.get(id) ?? 0))),
    },
  ];
}

/** What the files of a machine take on disk, without those that snapshots or other machines share. */
async function ownMibOnDisk(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const stats = await Promise.all(files.map(({ parentPath, name }) => stat(join(parentPath, name))));
  return stats.reduce((sum, { nlink, blocks }) => sum + (nlink === 1 ? blocks * 512 : 0), 0) / mib;
}

/** Memory that no other process shares. */
async function privateMibOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kib = [...text.matchAll(/^Private_(?:Clean|Dirty): +(\d+) kB$/gm)].map(([, value]) => Number(value));
  return kib.reduce((sum, value) => sum + value, 0) / 1024;
}
