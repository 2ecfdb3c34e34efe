import { setTimeout as pause } from 'node:timers/promises';
import { type AuditedDatabase, readLedger, readNumber, readSandboxes } from './database.ts';

const openSandboxes = "select count(*) from sandboxes where status in ('provisioning', 'running')";
const everyMs = 50;

/** Looks again and again at how many sandboxes are open, until it is told to end; gives the most it saw. */
export const watchQuota = async (database: AuditedDatabase, isEnded: () => boolean): Promise<number> => {
  let most = 0;
  while (!isEnded()) {
    // A database that is down answers nobody.
    most = Math.max(most, await readNumber(database, openSandboxes).catch(() => 0));
    await pause(everyMs);
  }
  return most;
};

/** How many sandboxes ran at the same moment, at most, by their own records. */
export const mostRunningAtOnce = async (database: AuditedDatabase): Promise<number> => {
  const ends = new Map((await readLedger(database)).map(({ sandboxId, atMs }) => [sandboxId, atMs]));
  const runs = (await readSandboxes(database)).flatMap(({ id, readyAtMs, statusReason }) =>
    readyAtMs === null || statusReason?.startsWith('provisioning_failed')
      ? []
      : [{ fromMs: readyAtMs, untilMs: ends.get(id) ?? Number.POSITIVE_INFINITY }],
  );
  const runningAt = (atMs: number) => runs.filter(({ fromMs, untilMs }) => fromMs <= atMs && atMs < untilMs).length;
  return Math.max(0, ...runs.map(({ fromMs }) => runningAt(fromMs)));
};
