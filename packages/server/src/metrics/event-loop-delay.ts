import { performance } from 'node:perf_hooks';
import type { Registry } from 'prom-client';
import { histogram } from './instruments.ts';

export const periodMs = 20;

/**
 * Measures how late a timer of 20 ms fires: whatever holds the event loop delays every request by as much. Unlike the lag metrics of
 * prom-client, which start again with each scrape, a histogram shows how often that happened since the start.
 */
export function measureEventLoopDelay(registry: Registry): void {
  const delays = histogram(
    registry,
    'mayfly_event_loop_delay_seconds',
    'How late a timer of 20 ms fired.',
    [],
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  );
  let lastMs = performance.now();
  setInterval(() => {
    const nowMs = performance.now();
    delays.observe(Math.max(nowMs - lastMs - periodMs, 0) / 1_000);
    lastMs = nowMs;
  }, periodMs).unref();
}
