import { readdirSync, readFileSync } from 'node:fs';

/** The four user ids of a process, out of /proc/PID/status. */
export const parseUids = (status: string): number[] =>
  Array.from(/^Uid:(.*)$/m.exec(status)?.[1]?.matchAll(/\d+/g) ?? [], ([digits]) => Number(digits));

/** Every user id that a process on this host runs under now. */
export const uidsInUse = (): Set<number> => {
  const uids = new Set<number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      for (const uid of parseUids(readFileSync(`/proc/${name}/status`, 'utf8'))) uids.add(uid);
    } catch {
      // It ended meanwhile.
    }
  }
  return uids;
};
