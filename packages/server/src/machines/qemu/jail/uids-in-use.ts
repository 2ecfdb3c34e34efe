import { readdirSync, readFileSync } from 'node:fs';

/** The four user ids of a process, out of /proc/PID/status. */
export const parseUids = (status: string): number[] =>
  Array.from(/^Uid:(.*)$/m.exec(status)?.[1]?.matchAll(/\d+/g) ?? [], ([digits]) => Number(digits));

/** Whether a process has ended and only waits to be reaped: it cannot do anything under its user id any more. */
const hasEnded = (status: string): boolean => /^State:\s+[ZX]/m.test(status);

/** Every user id that a process on this host runs under now. */
export const uidsInUse = (): Set<number> => {
  const uids = new Set<number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const status = readFileSync(`/proc/${name}/status`, 'utf8');
      if (!hasEnded(status)) for (const uid of parseUids(status)) uids.add(uid);
    } catch {
      // It ended meanwhile.
    }
  }
  return uids;
};
