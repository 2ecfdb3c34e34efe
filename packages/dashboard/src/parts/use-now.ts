import { useSyncExternalStore } from 'react';
import { serverNowMs } from '../api/server-clock.ts';

const everyMs = 1_000;
const listeners = new Set<() => void>();
let nowMs = serverNowMs();
let timer: ReturnType<typeof setInterval> | undefined;

/** The time on the service's clock, once a second, the same for everything on the page. */
export function useNow(): number {
  return useSyncExternalStore(onTick, () => nowMs);
}

function onTick(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, everyMs);
  tick();
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function tick(): void {
  if (document.hidden) return;
  nowMs = serverNowMs();
  for (const listener of listeners) listener();
}
