import { sizeNames, snapshotStatuses } from '@mayfly/contract';
import { Gauge, type Registry } from 'prom-client';
import type { Readings, SnapshotCount } from '../core/ports/metrics.ts';
import { openStatuses } from '../core/ports/store/sandbox-store.ts';
import { withDeadline } from '../core/scheduling/deadline.ts';

/** A database that does not answer must not hold up the page. */
export const databaseMs = 2_000;

/** Adds the metrics that are read at each scrape. */
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
    help: 'Sandboxes that have not ended; absent while the database does not answer.',
    labelNames: ['status', 'size'],
    registers,
    async collect() {
      const counts = await withDeadline('counting sandboxes', databaseMs, readings.sandboxes()).catch(() => undefined);
      this.reset();
      if (counts === undefined) return;
      for (const status of openStatuses) for (const size of sizeNames) this.set({ status, size }, 0);
      for (const { status, size, count } of counts) this.set({ status, size }, count);
    },
  });
  const perStatus = (name: string, help: string, read: (count: SnapshotCount) => number) =>
    new Gauge({
      name,
      help: `${help}; absent while the database does not answer.`,
      labelNames: ['status'],
      registers,
      async collect() {
        const counts = await withDeadline('counting snapshots', databaseMs, readings.snapshots()).catch(
          () => undefined,
        );
        this.reset();
        if (counts === undefined) return;
        for (const status of snapshotStatuses) this.set({ status }, 0);
        for (const count of counts) this.set({ status: count.status }, read(count));
      },
    });
  perStatus('mayfly_snapshots', 'Snapshots', ({ count }) => count);
  perStatus('mayfly_snapshot_stored_bytes', 'What snapshots take on disk', ({ bytes }) => bytes);
  perSize('mayfly_pool_machines_ready', 'Machines ready in the pool.', (size) => readings.poolReady(size));
  perSize('mayfly_pool_machines_target', 'Target number of machines in the pool.', (size) => readings.poolTarget(size));
  single('mayfly_restores_in_flight', 'Restores in progress.', () => readings.restoresInFlight());
  single('mayfly_restores_waiting', 'Restores waiting in the queue.', () => readings.restoresWaiting());
  single('mayfly_previews_open', 'Requests and WebSockets open through previews.', () => readings.previewsOpen());
  single('mayfly_result_bytes_held', 'Bytes of large results in memory, until their responses are sent.', () =>
    readings.resultBytesHeld(),
  );
  single('mayfly_results_waiting', 'Requests that wait for memory for a large result.', () =>
    readings.resultsWaiting(),
  );
  single('mayfly_body_bytes_held', 'Bytes of large request bodies in memory, until their responses are sent.', () =>
    readings.bodyBytesHeld(),
  );
  single('mayfly_uploads_open', 'Requests with large bodies, those that wait for memory included.', () =>
    readings.uploadsOpen(),
  );
  single('mayfly_commands_waiting', 'Commands that wait because their account runs too many at once.', () =>
    readings.commandsWaiting(),
  );
  single('mayfly_teardowns_waiting', 'Machines that could not be destroyed and are waiting for a retry.', () =>
    readings.teardownsWaiting(),
  );
}
