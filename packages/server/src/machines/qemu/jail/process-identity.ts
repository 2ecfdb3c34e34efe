import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** Names one process for ever: process ids come again, also with the same start time after a restart of the host. */
export const processIdentity = z.object({
  pid: z.number().int().positive(),
  /** When it started, in clock ticks since the host did (field 22 of /proc/PID/stat). */
  startTicks: z.number().int().nonnegative(),
  /** Which run of the host's kernel that was. */
  bootId: z.string(),
});

export type ProcessIdentity = z.infer<typeof processIdentity>;

/** Reads state and start time out of /proc/PID/stat; undefined when it is not one. A process's name may hold anything. */
export const parseProcessStat = (text: string): { state: string; startTicks: number } | undefined => {
  const afterName = text.lastIndexOf(')');
  if (afterName === -1) return undefined;
  const fields = text
    .slice(afterName + 1)
    .trim()
    .split(' ');
  const [state, startTicks] = [fields[0], Number(fields[19])];
  if (!state || fields[19] === undefined || !Number.isSafeInteger(startTicks)) return undefined;
  return { state, startTicks };
};

const readText = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
};

/** The identity of a process that runs now; undefined when there is none, or it has ended and only waits to be reaped. */
export const readProcessIdentity = (pid: number): ProcessIdentity | undefined => {
  const stat = parseProcessStat(readText(`/proc/${pid}/stat`) ?? '');
  const bootId = readText('/proc/sys/kernel/random/boot_id')?.trim();
  if (!stat || bootId === undefined || stat.state === 'Z' || stat.state === 'X') return undefined;
  return { pid, startTicks: stat.startTicks, bootId };
};

/** True while the very process that is named still runs. */
export const isSameProcess = (identity: ProcessIdentity): boolean => {
  const now = readProcessIdentity(identity.pid);
  return now !== undefined && now.startTicks === identity.startTicks && now.bootId === identity.bootId;
};
