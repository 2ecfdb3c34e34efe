import { sizeNames } from '@mayfly/contract';
import { Gauge, type Registry } from 'prom-client';
import type { Readings } from '../core/ports/metrics.ts';
import { openStatuses } from '../core/ports/store/sandbox-store.ts';
import { withDeadline } from '../core/scheduling/deadline.ts';

/** A database that does not answer must not keep the rest of the page back. */
const readMs = 2_000;

/** Adds what is looked at whenever the page is asked for. */
export function addGauges(registry: Registry, readings: Readings): void {
  const registers = [registry];
  const perSize = (name: string, help: string, read: (size: (typeof sizeNames)[number]) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['size'],
      registers,
      collect() {
        for (const size of sizeNames) this.set({ size }, read(size));
      },
    });
  const single = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });

  new Gauge({
    name: 'mayfly_sandboxes',
    help: 'Sandboxes that are not over, as the database has them; absent while it does not answer.',
    labelNames: ['status', 'size'],
    registers,
    async collect() {
      const counts = await withDeadline('the count', readMs, readings.sandboxes()).catch(() => undefined);
      this.reset();
      if (counts === undefined) return;
      for (const status of openStatuses) for (const size of sizeNames) this.set({ status, size }, 0);
      for (const { status, size, count } of counts) this.set({ status, size }, count);
    },
  });
  perSize('mayfly_pool_machines_ready', 'Machines that wait in the pool.', (size) => readings.poolReady(size));
  perSize('mayfly_pool_machines_target', 'Machines that should wait in the pool.', (size) => readings.poolTarget(size));
  single('mayfly_restores_in_flight', 'Machines that are being restored.', () => readings.restoresInFlight());
  single('mayfly_restores_waiting', 'Restores that wait for a place.', () => readings.restoresWaiting());
  single('mayfly_previews_open', 'Requests and WebSockets that are open through previews.', () =>
    readings.previewsOpen(),
  );
  single('mayfly_teardowns_waiting', 'Machines that would not go and will be tried again.', () =>
    readings.teardownsWaiting(),
  );
}
