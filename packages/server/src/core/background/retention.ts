import type { Core } from '../context.ts';

const dayMs = 86_400_000;
/** Rows removed in one statement, and the pause after each, so that nobody waits for it. */
const stepRows = 200;
const stepPauseMs = 50;

/** Removes what is older than the retention, in small steps; gives how many records went. */
export async function removeOldRecords(core: Pick<Core, 'store' | 'clock'>, retentionDays: number): Promise<number> {
  const beforeMs = core.clock.nowMs() - retentionDays * dayMs;
  const executions = await inSteps((most) => core.store.retention.removeExecutions(beforeMs, most));
  return executions + (await inSteps((most) => core.store.retention.removeSandboxes(beforeMs, most)));
}

async function inSteps(remove: (most: number) => Promise<number>): Promise<number> {
  for (let removed = 0; ; ) {
    const count = await remove(stepRows);
    removed += count;
    if (count < stepRows) return removed;
    await new Promise((resolve) => setTimeout(resolve, stepPauseMs).unref());
  }
}
