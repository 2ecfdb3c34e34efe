import type { Log } from '../ports/runtime.ts';

/** Runs the work now and again after each pause, never twice at once, until disposed of. A failure is logged and does not stop it. */
export function repeat(task: string, periodMs: number, work: () => Promise<unknown>, log: Log): AsyncDisposable {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const runOnce = async (): Promise<void> => {
    await work().catch((err: unknown) => log.error({ task, err }, 'background_task_failed'));
    if (stopped) return;
    timer = setTimeout(() => {
      running = runOnce();
    }, periodMs);
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
