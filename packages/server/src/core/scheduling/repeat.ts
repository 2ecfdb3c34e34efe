import type { Log } from '../ports/runtime.ts';

/**
 * Runs the work now and then once per period, never twice at once, until disposed of. Work that takes longer than the period skips
 * the runs that it overlaps. A failure is logged and does not stop it.
 */
export function repeat(task: string, periodMs: number, work: () => Promise<unknown>, log: Log): AsyncDisposable {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const runOnce = async (): Promise<void> => {
    const startedAtMs = performance.now();
    await work().catch((err: unknown) => log.error({ task, err }, 'background_task_failed'));
    if (stopped) return;
    const elapsedMs = performance.now() - startedAtMs;
    timer = setTimeout(
      () => {
        running = runOnce();
      },
      periodMs - (elapsedMs % periodMs),
    );
    timer.unref();
  };
  let running = runOnce();
  return {
    async [Symbol.asyncDispose]() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
