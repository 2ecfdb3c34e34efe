import { collectDefaultMetrics, Registry } from 'prom-client';

let registry: Registry | undefined;

/** Figures of this process: CPU, memory, event loop, garbage collection. One for the process, since its observers stay. */
export function processRegistry(): Registry {
  if (registry === undefined) {
    registry = new Registry();
    collectDefaultMetrics({ register: registry, prefix: 'mayfly_' });
  }
  return registry;
}
