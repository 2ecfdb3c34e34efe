import type { Core } from '../core/context.ts';
import type { Readings } from '../core/ports/metrics.ts';

/** What the service shows of itself at the moment it is asked. */
export function readingsOf({ store, pool, restores, teardowns, previewTraffic }: Core): Readings {
  return {
    sandboxes: () => store.sandboxes.countByStatus(),
    poolReady: (size) => pool.readyCount(size),
    poolTarget: (size) => pool.target(size),
    restoresInFlight: () => restores.inFlight,
    restoresWaiting: () => restores.waiting,
    teardownsWaiting: () => teardowns.waiting,
    previewsOpen: () => previewTraffic.count,
  };
}
