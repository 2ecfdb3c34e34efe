import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { agentsFolderOf, runFolderOf } from '#server/machines/protocol/run-folder.ts';
import { tryLock } from '#server/system/lock-file.ts';
import { leasedUids } from '../host-state.ts';
import { machinePids } from '../machine-processes.ts';

/** Everything on the host that belongs to the machines of one data folder. Each list is sorted. */
export interface HeldResources {
  /** The machine ids of QEMU processes. */
  readonly processes: readonly string[];
  readonly folders: readonly string[];
  /** The machine ids whose agent sockets the service can open. */
  readonly agents: readonly string[];
  readonly cgroups: readonly string[];
  /** The record files of networks, by slot. */
  readonly networks: readonly string[];
  /** Leased user ids. */
  readonly uids: readonly string[];
  readonly mounts: readonly string[];
}

const stateDir = '/run/mayfly';
/** How many networks a host process prepares in advance. */
const networksAhead = 2;
const cleanupDeadlineMs = 30_000;

/** What the machines of a data folder hold on the host at this moment. */
export async function heldResources(dataDir: string): Promise<HeldResources> {
  return {
    processes: [...(await machinePids(dataDir)).keys()].toSorted(),
    folders: (await listFolder(join(dataDir, 'machines'))).toSorted(),
    agents: (await listFolder(agentsFolderOf(runFolderOf(dataDir)))).toSorted(),
    cgroups: await cgroupsOf(dataDir),
    networks: await networkRecordsOf(dataDir),
    uids: leasedUids(dataDir),
    mounts: (await readFile('/proc/self/mounts', 'utf8')).split('\n').filter((line) => line.includes(dataDir)),
  };
}

/**
 * Waits until a running service holds exactly the resources of these machines and of its pool. Returns the differences that remain at
 * the deadline.
 */
export function unexpectedResources(
  dataDir: string,
  machineIds: readonly string[],
  poolSize: number,
): Promise<string[]> {
  return untilEmpty(async () => [
    ...differences(await heldResources(dataDir), machineIds, poolSize),
    ...(await orphanedNetworks()).map((orphan) => `orphaned ${orphan}`),
  ]);
}

/** Waits until nothing of a data folder's machines is left on the host. Returns what is left at the deadline. */
export function leftovers(dataDir: string): Promise<string[]> {
  return untilEmpty(async () => [
    ...Object.entries(await heldResources(dataDir)).flatMap(([kind, ids]) =>
      (ids as readonly string[]).map((id) => `${kind}: ${id}`),
    ),
    ...(await orphanedNetworks()).map((orphan) => `orphaned ${orphan}`),
    ...unusedFirewallTables(),
  ]);
}

/** Polls until the condition holds. Returns false if it does not within the deadline. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  deadlineMs: number,
  intervalMs = 100,
): Promise<boolean> {
  const untilMs = performance.now() + deadlineMs;
  for (;;) {
    if (await condition()) return true;
    if (performance.now() > untilMs) return false;
    await pause(intervalMs);
  }
}

/** Polls until the list is empty. Returns the last list. */
async function untilEmpty(list: () => Promise<string[]>): Promise<string[]> {
  let found: string[] = [];
  await waitUntil(async () => {
    found = await list();
    return found.length === 0;
  }, cleanupDeadlineMs);
  return found;
}

function differences(held: HeldResources, machineIds: readonly string[], poolSize: number): string[] {
  const expected = new Set(machineIds);
  const { processes, folders, agents, cgroups } = held;
  const kinds = { processes, folders, agents, cgroups };
  const found = Object.entries(kinds).flatMap(([kind, ids]) => {
    const missing = machineIds.filter((id) => !ids.includes(id)).map((id) => `${kind}: ${id} is missing`);
    const others = ids.filter((id) => !expected.has(id));
    const pool = others.filter((id) => id.startsWith('pool_'));
    const strays = others.filter((id) => !id.startsWith('pool_')).map((id) => `${kind}: ${id} is left`);
    return [...missing, ...strays, ...(pool.length === poolSize ? [] : [`${kind}: ${pool.length} in the pool`])];
  });
  const networks = machineIds.length + poolSize + networksAhead;
  for (const [kind, list] of Object.entries({ networks: held.networks, uids: held.uids })) {
    if (list.length !== networks) found.push(`${list.length} ${kind} instead of ${networks}: ${list.join(' ')}`);
  }
  return [...found, ...held.mounts.map((mount) => `mounted: ${mount}`)];
}

/** The entries of a folder; none if it does not exist. */
function listFolder(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

async function networkRecordsOf(dataDir: string): Promise<string[]> {
  const folder = join(stateDir, 'networks');
  const files = await listFolder(folder);
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8').catch(() => '')));
  return files.filter((_, index) => texts[index]?.includes(dataDir)).toSorted();
}

async function cgroupsOf(dataDir: string): Promise<string[]> {
  const instance = createHash('sha256').update(dataDir).digest('hex').slice(0, 12);
  const trees = ['', ...(await listFolder('/sys/fs/cgroup'))];
  const groups = await Promise.all(
    trees.map(async (tree) => {
      const folder = join('/sys/fs/cgroup', tree, 'mayfly', instance);
      const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
      return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    }),
  );
  return [...new Set(groups.flat())].toSorted();
}

/** Network namespaces and links without a record. Checked twice, because a network may be in the middle of its removal. */
async function orphanedNetworks(): Promise<string[]> {
  const first = await unrecordedNetworks();
  if (first.length === 0) return [];
  const second = new Set(await unrecordedNetworks());
  return first.filter((network) => second.has(network));
}

async function unrecordedNetworks(): Promise<string[]> {
  const links = execFileSync('ip', ['-br', 'link'], { encoding: 'utf8' });
  const slots = [
    ...(await listFolder('/run/netns')).flatMap((name) => /^mayfly-(\d+)$/.exec(name)?.[1] ?? []),
    ...Array.from(links.matchAll(/^mf(\d+)[@\s]/gm), ([, slot = '']) => slot),
  ];
  const recorded = new Set(await listFolder(join(stateDir, 'networks')));
  return slots.filter((slot) => !recorded.has(`${slot}.json`)).map((slot) => `network ${slot}`);
}

/** Mayfly's firewall tables, if no service uses them. */
function unusedFirewallTables(): string[] {
  try {
    using unused = tryLock(join(stateDir, 'network.users'), 'exclusive');
    if (!unused) return [];
    const tables = execFileSync('nft', ['list', 'tables'], { encoding: 'utf8' });
    return tables.split('\n').filter((table) => table.includes('mayfly'));
  } catch {
    // No service has set up networking on this host.
    return [];
  }
}
