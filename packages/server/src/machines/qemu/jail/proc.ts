import { constants, readdirSync, readFileSync, statSync } from 'node:fs';
import { z } from 'zod';

/** Identifies one process unambiguously. Process ids are reused, and start times can repeat after a reboot. */
export const processIdentity = z.object({
  pid: z.number().int().positive(),
  /** Clock ticks between the boot of the host and the start of the process (field 22 of /proc/PID/stat). */
  startTicks: z.number().int().nonnegative(),
  /** Identifies the boot of the host. */
  bootId: z.string(),
});

export type ProcessIdentity = z.infer<typeof processIdentity>;

/** The identity of a running process; undefined when there is none, or when it has exited and was not reaped yet. */
export function readProcessIdentity(pid: number): ProcessIdentity | undefined {
  const stat = parseProcessStat(readText(`/proc/${pid}/stat`) ?? '');
  const bootId = readText('/proc/sys/kernel/random/boot_id')?.trim();
  if (!stat || bootId === undefined || stat.state === 'Z' || stat.state === 'X') return undefined;
  return { pid, startTicks: stat.startTicks, bootId };
}

/** Whether exactly this process is still running. */
export function isSameProcess(identity: ProcessIdentity): boolean {
  const now = readProcessIdentity(identity.pid);
  return now !== undefined && now.startTicks === identity.startTicks && now.bootId === identity.bootId;
}

/** Parses state and start time of /proc/PID/stat; undefined when it is malformed. The process name in it may contain anything. */
export function parseProcessStat(text: string): { state: string; startTicks: number } | undefined {
  const afterName = text.lastIndexOf(')');
  if (afterName === -1) return undefined;
  const fields = text
    .slice(afterName + 1)
    .trim()
    .split(' ');
  const [state, startTicks] = [fields[0], Number(fields[19])];
  if (!state || fields[19] === undefined || !Number.isSafeInteger(startTicks)) return undefined;
  return { state, startTicks };
}

/**
 * Whether a process writes to a regular file that still has a name. A machine whose data folder was deleted writes only to deleted files;
 * one whose data folder was moved, or is on a file system that is not mounted here any more, does not.
 */
export function writesNamedFile(pid: number): boolean {
  return listFolder(`/proc/${pid}/fd`).some((fd) => {
    const flags = /^flags:\s+(\d+)$/m.exec(readText(`/proc/${pid}/fdinfo/${fd}`) ?? '')?.[1];
    const isWritable = flags !== undefined && (Number.parseInt(flags, 8) & accessModeMask) !== constants.O_RDONLY;
    const file = statSync(`/proc/${pid}/fd/${fd}`, { throwIfNoEntry: false });
    return isWritable && file?.isFile() === true && file.nlink > 0;
  });
}

const accessModeMask = constants.O_WRONLY | constants.O_RDWR;

/** Every user id that a process of this host runs under. */
export function uidsInUse(): Set<number> {
  const uids = new Set<number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const status = readText(`/proc/${name}/status`) ?? '';
    if (!hasExited(status)) for (const uid of parseUids(status)) uids.add(uid);
  }
  return uids;
}

/** The real, effective, saved and file system user id in /proc/PID/status. */
export function parseUids(status: string): number[] {
  return Array.from(/^Uid:(.*)$/m.exec(status)?.[1]?.matchAll(/\d+/g) ?? [], ([digits]) => Number(digits));
}

/** A process that was not reaped yet does nothing under its user id any more. */
function hasExited(status: string): boolean {
  return /^State:\s+[ZX]/m.test(status);
}

/** The names in a folder of /proc; none when its process is gone. */
function listFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** The content of a file of /proc; undefined when its process is gone. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
