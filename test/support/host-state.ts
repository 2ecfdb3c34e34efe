import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { DatabaseSync } from 'node:sqlite';
import { hostUidRange } from '#server/machines/qemu/jail/uid-leases.ts';
import { machineProcesses } from './machine-processes.ts';

function sh(script: string): string {
  return execFileSync('sh', ['-c', script], { encoding: 'utf8' });
}

/** Prints what machines could leave on the host, except processes: links, rules, namespaces, mounts, routes, cgroups, lock files. */
const listLeftovers = `
ip -br link | awk '{print $1}'
nft list ruleset
ls /run/netns 2>/dev/null
cat /proc/self/mounts
ip route
find /sys/fs/cgroup -type d -path '*/mayfly*' 2>/dev/null | sort
find /run/mayfly -type f ! -name network.lock ! -name network.users ! -name owners.lock ! -name '*uid-leases.db*' 2>/dev/null | sort
`;

/** The leased user ids: all, or those of one data folder. */
export function leasedUids(dataDir?: string): string[] {
  const { databasePath } = hostUidRange;
  if (!existsSync(databasePath)) return [];
  const db = new DatabaseSync(databasePath, { timeout: 5_000 });
  try {
    const rows = db.prepare('SELECT uid FROM lease WHERE data_folder = coalesce(?, data_folder) ORDER BY uid');
    return rows.all(dataDir ?? null).map(({ uid }) => `uid ${String(uid)}`);
  } finally {
    db.close();
  }
}

function hostResources(): string {
  return [sh(listLeftovers), ...leasedUids()].join('\n');
}

/** Everything that machines under the folder for temporary files could leave on the host. */
export async function hostState(): Promise<string> {
  const qemus = (await machineProcesses(tmpdir())).map(() => 'a QEMU process');
  return [hostResources(), ...qemus].join('\n');
}

/**
 * What is on the host now and was not there before, one line per resource. What earlier suites left may go meanwhile: a host
 * process that starts removes what a killed one left.
 */
export async function leftSince(before: string): Promise<string[]> {
  const known = before.split('\n');
  return (await hostState()).split('\n').filter((line) => {
    const index = known.indexOf(line);
    if (index >= 0) known.splice(index, 1);
    return index < 0;
  });
}

/** The children of a process and all processes that run under the uid of a machine: pid, program and first argument. */
function processesOf(parent: number): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/status`, 'utf8');
        const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
        if (field('PPid') !== parent && field('Uid') < hostUidRange.firstUid) return [];
        // A zombie holds nothing; its parent just has not reaped it yet.
        if (/^State:\s+Z/m.test(status)) return [];
        const [program, argument = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return [`${pid} ${program} ${argument.slice(0, 80)}`];
      } catch {
        return [];
      }
    });
}

/** The same plus the files of a data folder and the processes of this process, for a driver that is open here. One line per resource. */
export function openHostState(dataDir: string): string[] {
  // The processes are listed last, when the shells that list the rest have exited.
  const resources = hostResources().split('\n');
  const files = sh(`find ${dataDir} | sort`).split('\n');
  return [...resources, ...files, ...processesOf(process.pid)];
}

/** The number of open descriptors of this process, by kind. */
export function openDescriptors(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const fd of readdirSync('/proc/self/fd')) {
    try {
      const kind = readlinkSync(`/proc/self/fd/${fd}`).replace(/:\[\d+\]$/, '');
      counts[kind] = (counts[kind] ?? 0) + 1;
    } catch {
      // The descriptor that was used to read the folder; it is closed by now.
    }
  }
  return counts;
}
