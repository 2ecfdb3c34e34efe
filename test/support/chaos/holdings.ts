import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { machinePids } from './machine-pids.ts';

/** Everything on the host that belongs to one data folder, each list sorted. */
export interface Holdings {
  /** Of the QEMU processes, by machine. */
  readonly processes: readonly string[];
  readonly folders: readonly string[];
  readonly cgroups: readonly string[];
  /** Slots with a record of a network. */
  readonly networks: readonly string[];
  /** User ids that are leased. */
  readonly uids: readonly string[];
  readonly mounts: readonly string[];
}

const stateDir = '/run/mayfly';
const names = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

/** The files of a folder of the host's state that speak of a data folder. */
const recordsAbout = async (folder: string, dataDir: string): Promise<string[]> => {
  const files = await names(join(stateDir, folder));
  const texts = await Promise.all(files.map((file) => readFile(join(stateDir, folder, file), 'utf8').catch(() => '')));
  return files.filter((_, index) => texts[index]?.includes(dataDir)).toSorted();
};

const cgroupsOf = async (dataDir: string): Promise<string[]> => {
  const instance = createHash('sha256').update(dataDir).digest('hex').slice(0, 12);
  const trees = ['', ...(await names('/sys/fs/cgroup'))];
  const groups = await Promise.all(
    trees.map(async (tree) => {
      const folder = join('/sys/fs/cgroup', tree, 'mayfly', instance);
      const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
      return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    }),
  );
  return [...new Set(groups.flat())].toSorted();
};

/** What a data folder's machines hold of the host now. */
export const holdingsOf = async (dataDir: string): Promise<Holdings> => ({
  processes: [...(await machinePids(dataDir)).keys()].toSorted(),
  folders: (await names(join(dataDir, 'machines'))).toSorted(),
  cgroups: await cgroupsOf(dataDir),
  networks: await recordsAbout('networks', dataDir),
  uids: await recordsAbout('uids', dataDir),
  mounts: (await readFile('/proc/self/mounts', 'utf8')).split('\n').filter((line) => line.includes(dataDir)),
});

const looseNetworks = async (): Promise<string[]> => {
  const links = execFileSync('ip', ['-br', 'link'], { encoding: 'utf8' });
  const slots = [
    ...(await names('/run/netns')).flatMap((name) => /^mayfly-(\d+)$/.exec(name)?.[1] ?? []),
    ...Array.from(links.matchAll(/^mf(\d+)[@\s]/gm), ([, slot = '']) => slot),
  ];
  const recorded = new Set(await names(join(stateDir, 'networks')));
  return slots.filter((slot) => !recorded.has(`${slot}.json`)).map((slot) => `network ${slot}`);
};

/** Network namespaces and links that no service of this host answers for: seen twice, since a network may just be going. */
export const orphanNetworks = async (): Promise<string[]> => {
  const first = await looseNetworks();
  if (first.length === 0) return [];
  const again = new Set(await looseNetworks());
  return first.filter((slot) => again.has(slot));
};

/** Rules of ours in the host's firewall although no service uses it. */
export const orphanRules = (): string[] => {
  try {
    const users = join(stateDir, 'network.users');
    const tables = execFileSync('flock', ['-n', '-x', users, 'nft', 'list', 'tables'], { encoding: 'utf8' });
    return tables.split('\n').filter((table) => table.includes('mayfly'));
  } catch {
    // Another service has it.
    return [];
  }
};
