import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { hostUidRange } from '#server/machines/qemu/jail/uid-leases.ts';
import { machineProcesses } from './processes.ts';

const sh = (script: string): string => execFileSync('sh', ['-c', script], { encoding: 'utf8' });

/** Everything of the host that machines could leave behind, but processes: links, rules, namespaces, mounts, routes, cgroups, leases. */
const leftOnHost = `
ip -br link | awk '{print $1}'
nft list ruleset
ls /run/netns 2>/dev/null
cat /proc/self/mounts
ip route
find /sys/fs/cgroup -type d -path '*/mayfly*' 2>/dev/null | sort
find /run/mayfly -type f ! -name network.lock ! -name network.users 2>/dev/null | sort
`;

/** Everything of the host that machines under the folder for temporary files could leave behind. */
export const hostState = async (): Promise<string> => {
  const qemus = (await machineProcesses(tmpdir())).length;
  return `${sh(leftOnHost)}\nqemu processes: ${qemus}`;
};

/** The processes that a process started, and all that run under the uid of a machine: what they are and their first argument. */
const processesOf = (parent: number): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/status`, 'utf8');
        const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
        if (field('PPid') !== parent && field('Uid') < hostUidRange.firstUid) return [];
        // It has ended and holds nothing; only the host's first process has not noticed yet.
        if (/^State:\s+Z/m.test(status)) return [];
        const [program, argument = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return [`${pid} ${program} ${argument.slice(0, 80)}`];
      } catch {
        return [];
      }
    });

/** All of that and every file of a data folder, while a driver in this very process is open; one line per thing. */
export const openHostState = (dataDir: string): string[] => {
  // The shell that looks is no process of a driver.
  const looked = sh(leftOnHost).split('\n');
  const files = sh(`find ${dataDir} | sort`).split('\n');
  return [...looked, ...files, ...processesOf(process.pid)];
};

/** How many descriptors of each kind this process has open. */
export const openDescriptors = (): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const fd of readdirSync('/proc/self/fd')) {
    try {
      const kind = readlinkSync(`/proc/self/fd/${fd}`).replace(/:\[\d+\]$/, '');
      counts[kind] = (counts[kind] ?? 0) + 1;
    } catch {
      // The descriptor by which the folder was read.
    }
  }
  return counts;
};
