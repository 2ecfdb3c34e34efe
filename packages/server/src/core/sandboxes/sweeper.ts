import type { Core } from '../context.ts';
import { expireSandboxes } from './expire.ts';

/** Runs the expiry sweep again and again, never two at once, until disposed of. */
export function startSweeper(core: Core, periodMs: number): AsyncDisposable {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let sweeping: Promise<void> = Promise.resolve();
  const sweep = async (): Promise<void> => {
    await expireSandboxes(core).catch((err: unknown) => core.log.error({ err }, 'sweep_failed'));
    schedule();
  };
  const schedule = (): void => {
    if (stopped) return;
    timer = setTimeout(() => {
      sweeping = sweep();
    }, periodMs);
    timer.unref();
  };
  schedule();
  return {
    async [Symbol.asyncDispose]() {
      stopped = true;
      clearTimeout(timer);
      await sweeping;
    },
  };
}
