import { errorTypes, sizeNames } from '@mayfly/contract';
import { collectDefaultMetrics, Registry } from 'prom-client';
import {
  capacityReasons,
  listeningPorts,
  type Metrics,
  previewOutcomes,
  type Readings,
} from '../core/ports/metrics.ts';
import { measureEventLoopDelay } from './event-loop-delay.ts';
import { addGauges } from './gauges.ts';
import { counter, histogram, requestCounter } from './instruments.ts';

/** Collects metrics and renders them in the text format of Prometheus. */
export interface PrometheusMetrics extends Metrics {
  readonly contentType: string;
  text(): Promise<string>;
  /** The service's own metrics, without the metrics of the process. */
  readonly registry: Registry;
  /** Adds these readings to the page. */
  watch(readings: Readings): void;
}

export function createPrometheusMetrics(): PrometheusMetrics {
  const registry = new Registry();
  // Starts to measure the process now, not with the first scrape.
  processRegistry();
  const creates = histogram(
    registry,
    'mayfly_create_duration_seconds',
    'Time from the admission of a create until its sandbox is ready or has failed.',
    ['size', 'pooled', 'outcome'],
    [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120],
  );
  const commands = histogram(
    registry,
    'mayfly_command_duration_seconds',
    'Time that commands ran in their sandboxes.',
    ['status'],
    [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600],
  );
  const overhead = histogram(
    registry,
    'mayfly_command_overhead_seconds',
    'Time that the service adds to a command: database, channel and agent.',
    [],
    [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
  );
  const failedCommands = counter(
    registry,
    'mayfly_commands_failed_total',
    'Commands that could not be started or were lost.',
  );
  const claims = counter(
    registry,
    'mayfly_pool_claims_total',
    'Creates of pooled sizes: a machine was ready (hit) or not (miss).',
    { size: sizeNames, outcome: ['hit', 'miss'] },
  );
  const restores = histogram(
    registry,
    'mayfly_restore_duration_seconds',
    'Time to restore a machine from its template, without the time in the queue.',
    ['size', 'purpose', 'outcome'],
    [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  );
  const deaths = counter(registry, 'mayfly_machine_deaths_total', 'Machines that died on their own.', {
    role: ['sandbox', 'pool'],
    size: sizeNames,
  });
  const teardownsFailed = counter(registry, 'mayfly_teardowns_failed_total', 'Failed attempts to destroy a machine.');
  const teardownsRetried = counter(registry, 'mayfly_teardowns_retried_total', 'Retried teardowns.');
  const capacity = counter(
    registry,
    'mayfly_capacity_refusals_total',
    'Creates refused at machine capacity: the host or MAYFLY_MAX_MACHINES allows no more machines.',
    { reason: capacityReasons },
  );
  const snapshots = histogram(
    registry,
    'mayfly_snapshot_duration_seconds',
    'Time from the admission of a snapshot until it is ready or has failed.',
    ['size', 'outcome'],
    [0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600],
  );
  const snapshotPauses = histogram(
    registry,
    'mayfly_snapshot_pause_seconds',
    'Time that a machine stood still while it was saved for a snapshot or a fork.',
    ['size'],
    [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  );
  const snapshotsDeleted = counter(registry, 'mayfly_snapshots_deleted_total', 'Snapshots that were deleted.');
  const evicted = counter(
    registry,
    'mayfly_sandboxes_evicted_total',
    'Sandboxes that were ended because the host ran out of memory or disk.',
    { reason: ['memory', 'disk'] },
  );
  const charged = counter(
    registry,
    'mayfly_ledger_charged_micro_usd_total',
    'Millionths of a dollar charged for finished runs and stored snapshots.',
  );
  const credited = counter(
    registry,
    'mayfly_ledger_credited_micro_usd_total',
    'Millionths of a dollar of credit added.',
  );
  const withdrawn = counter(
    registry,
    'mayfly_ledger_withdrawn_micro_usd_total',
    'Millionths of a dollar of credit withdrawn.',
  );
  const storeErrors = counter(registry, 'mayfly_store_errors_total', 'Failed database calls.', {
    operation: [],
  });
  const takeover = counter(
    registry,
    'mayfly_takeover_total',
    'At start: sandboxes whose machines were adopted, sandboxes that were ended, and orphaned machines.',
    { outcome: ['adopted', 'ended', 'orphaned'] },
  );
  const recovered = counter(
    registry,
    'mayfly_commands_recovered_total',
    'Commands of the previous run, or that ended during a database outage: completed with their result, or lost.',
    { outcome: ['recovered', 'lost'] },
  );
  const limited = counter(registry, 'mayfly_rate_limit_refusals_total', 'Requests refused by a rate limit.', {
    window: ['source', 'public', 'requests', 'creations', 'uploads', 'sessions', 'attempts'],
  });
  const errors = counter(registry, 'mayfly_errors_total', 'Error responses by type.', { type: errorTypes });
  const slowReaders = counter(
    registry,
    'mayfly_slow_readers_cut_total',
    'Connections that were cut because their client did not read its responses.',
  );
  const previews = counter(
    registry,
    'mayfly_preview_requests_total',
    'Requests through previews: answered by the sandbox, upgraded to a WebSocket, or answered by the gateway itself.',
    { outcome: previewOutcomes },
  );

  const refusedConnections = counter(
    registry,
    'mayfly_connections_refused_total',
    'Connections that were refused because their source address opened too many.',
    { port: listeningPorts },
  );

  return {
    registry,
    contentType: registry.contentType,
    text: async () => `${await registry.metrics()}\n${await processRegistry().metrics()}`,
    watch: (readings) => addGauges(registry, readings),
    createEnded: ({ size, pooled, outcome, durationMs }) =>
      creates.observe({ size, pooled: pooled ? 'yes' : 'no', outcome }, durationMs / 1_000),
    commandFailed: () => failedCommands.inc(),
    commandEnded: (status, durationMs, totalMs) => {
      commands.observe({ status }, durationMs / 1_000);
      overhead.observe(Math.max(totalMs - durationMs, 0) / 1_000);
    },
    poolClaimed: (size, outcome) => claims.inc({ size, outcome }),
    restoreEnded: ({ size, purpose, outcome, durationMs }) =>
      restores.observe({ size, purpose, outcome }, durationMs / 1_000),
    machineDied: (size, role) => deaths.inc({ role, size }),
    teardownFailed: () => teardownsFailed.inc(),
    teardownRetried: () => teardownsRetried.inc(),
    capacityRefused: (reason) => capacity.inc({ reason }),
    snapshotEnded: ({ size, outcome, durationMs }) => snapshots.observe({ size, outcome }, durationMs / 1_000),
    machineSaved: (size, pausedMs) => snapshotPauses.observe({ size }, pausedMs / 1_000),
    snapshotDeleted: () => snapshotsDeleted.inc(),
    sandboxEvicted: (reason) => evicted.inc({ reason }),
    charged: (microUsd) => charged.inc(microUsd),
    credited: (microUsd) => (microUsd < 0 ? withdrawn.inc(-microUsd) : credited.inc(microUsd)),
    storeFailed: (operation) => storeErrors.inc({ operation }),
    tookOver: (outcome, count) => takeover.inc({ outcome }, count),
    commandRecovered: (outcome) => recovered.inc({ outcome }),
    rateLimited: (window) => limited.inc({ window }),
    errorAnswered: (type) => errors.inc({ type }),
    slowReaderCut: () => slowReaders.inc(),
    previewAnswered: (outcome) => previews.inc({ outcome }),
    connectionRefused: (port) => refusedConnections.inc({ port }),
    requestAnswered: requestCounter(registry),
  };
}

let processMetrics: Registry | undefined;

/** Metrics of this process: CPU, memory, event loop, garbage collection. Created once, because the collectors cannot be removed. */
export function processRegistry(): Registry {
  if (processMetrics === undefined) {
    processMetrics = new Registry();
    collectDefaultMetrics({ register: processMetrics, prefix: 'mayfly_' });
    measureEventLoopDelay(processMetrics);
  }
  return processMetrics;
}
