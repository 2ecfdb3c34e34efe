import type { Log } from '../ports/log.ts';

/** Does something now and again after each pause, never twice at once, until disposed of. A failure is logged and stops nothing. */
export function repeat(what: string, periodMs: number, work: () => Promise<unknown>, log: Log): AsyncDisposable {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const once = async (): Promise<void> => {
    await work().catch((err: unknown) => log.error({ what, err }, 'background_work_failed'));
    if (stopped) return;
    timer = setTimeout(() => {
      doing = once();
    }, periodMs);
    timer.unref();
  };
  let doing = once();
  return {
    async [Symbol.asyncDispose]() {
      stopped = true;
      clearTimeout(timer);
      await doing;
    },
  };
}
