import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../ports/runtime.ts';
import type { RetentionStore } from '../ports/store/store.ts';
import { expiredBefore } from '../sign-in/session-life.ts';

/** What removing old records needs. */
export interface RetentionNeeds {
  readonly store: { readonly retention: RetentionStore };
  readonly clock: Clock;
}

const dayMs = 86_400_000;
/** Rows removed by one statement, and the pause after it, so that no request waits long for the database. */
const batchRows = 200;
const batchPauseMs = 50;

/** Removes records older than the retention period, and sessions and sign-in links that have expired, in small batches. Returns how many were removed. */
export async function removeOldRecords(core: RetentionNeeds, retentionDays: number): Promise<number> {
  const nowMs = core.clock.nowMs();
  const beforeMs = nowMs - retentionDays * dayMs;
  const { retention } = core.store;
  const executions = await inBatches((rows) => retention.removeExecutions(beforeMs, rows));
  const sandboxes = await inBatches((rows) => retention.removeSandboxes(beforeMs, rows));
  const auditEvents = await inBatches((rows) => retention.removeAuditEvents(beforeMs, rows));
  const sessions = await inBatches((rows) => retention.removeSessions(expiredBefore(nowMs), rows));
  const links = await inBatches((rows) => retention.removeSignInLinks(nowMs, rows));
  return executions + sandboxes + auditEvents + sessions + links;
}

async function inBatches(remove: (maxRows: number) => Promise<number>): Promise<number> {
  for (let removed = 0; ; ) {
    const count = await remove(batchRows);
    removed += count;
    if (count < batchRows) return removed;
    await wait(batchPauseMs, undefined, { ref: false });
  }
}
