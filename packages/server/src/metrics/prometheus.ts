import { errorTypes, sizeNames } from '@mayfly/contract';
import { Registry } from 'prom-client';
import type { Metrics, Readings } from '../core/ports/metrics.ts';
import { addGauges } from './gauges.ts';
import { counter, histogram } from './instruments.ts';
import { processRegistry } from './process-registry.ts';
import { requestCounter } from './request-counter.ts';

/** Counts, and shows what it counted in the form that Prometheus reads. */
export interface PrometheusMetrics extends Metrics {
  readonly contentType: string;
  text(): Promise<string>;
  /** The registry of the service itself, without what is of the process. */
  readonly registry: Registry;
  /** From now on the page shows these readings, too. */
  watch(readings: Readings): void;
}

/** Counts for Prometheus. What can be known beforehand starts at zero, so that a first event shows as a change. */
export function createPrometheusMetrics(): PrometheusMetrics {
  const registry = new Registry();
  const creates = histogram(
    registry,
    'mayfly_create_duration_seconds',
    'Time from the admission of a create to its sandbox being ready, or to its failure.',
    ['size', 'pooled', 'outcome'],
    [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120],
  );
  const commands = histogram(
    registry,
    'mayfly_command_duration_seconds',
    'Time that commands took in their sandboxes.',
    ['status'],
    [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600],
  );
  const overhead = histogram(
    registry,
    'mayfly_command_overhead_seconds',
    'Time from the record of a command to its result on disk, the command itself taken off.',
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
    'Creates of a size that the pool holds: a machine was ready (hit) or not (miss).',
    { size: sizeNames, outcome: ['hit', 'miss'] },
  );
  const restores = histogram(
    registry,
    'mayfly_restore_duration_seconds',
    'Time that restoring a machine from its template took, the wait for a place not counted.',
    ['size', 'purpose', 'outcome'],
    [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  );
  const deaths = counter(registry, 'mayfly_machine_deaths_total', 'Machines that ended without being told to.', {
    role: ['sandbox', 'pool'],
    size: sizeNames,
  });
  const teardownsFailed = counter(
    registry,
    'mayfly_teardowns_failed_total',
    'Tries to take a machine away that failed.',
  );
  const teardownsRetried = counter(registry, 'mayfly_teardowns_retried_total', 'Teardowns that were tried once more.');
  const capacity = counter(
    registry,
    'mayfly_capacity_refusals_total',
    'Creates refused because the host or the ceiling takes no more machines.',
    { reason: ['ceiling', 'memory', 'disk'] },
  );
  const charged = counter(
    registry,
    'mayfly_ledger_charged_micro_usd_total',
    'Millionths of a dollar written to the ledger for finished runs.',
  );
  const credited = counter(
    registry,
    'mayfly_ledger_credited_micro_usd_total',
    'Millionths of a dollar of credit that were added.',
  );
  const takenBack = counter(
    registry,
    'mayfly_ledger_taken_back_micro_usd_total',
    'Millionths of a dollar of credit that were taken back.',
  );
  const storeErrors = counter(registry, 'mayfly_store_errors_total', 'Calls of the database that failed.', {
    operation: [],
  });
  const takeover = counter(
    registry,
    'mayfly_takeover_total',
    'At start: sandboxes whose machines were adopted, sandboxes that had to be ended, machines that were nobody’s.',
    { outcome: ['adopted', 'settled', 'unowned'] },
  );
  const recovered = counter(
    registry,
    'mayfly_commands_recovered_total',
    'Commands of an earlier run, or that ended while the database was away: ended with their result, or lost.',
    { outcome: ['recovered', 'lost'] },
  );
  const limited = counter(registry, 'mayfly_rate_limit_refusals_total', 'Requests refused by a rate window.', {
    window: ['source', 'requests', 'creations'],
  });
  const errors = counter(registry, 'mayfly_errors_total', 'Error answers by their type.', { type: errorTypes });
  const previews = counter(
    registry,
    'mayfly_preview_requests_total',
    'Requests through previews: answered by the sandbox, turned into a WebSocket, or answered by the gateway itself.',
    {
      outcome: [
        'served',
        'upgraded',
        'unknown',
        'nothing_listening',
        'unreachable',
        'busy',
        'bad_request',
        'misdirected',
        'not_supported',
      ],
    },
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
    charged: (microUsd) => charged.inc(microUsd),
    credited: (microUsd) => (microUsd < 0 ? takenBack.inc(-microUsd) : credited.inc(microUsd)),
    storeFailed: (operation) => storeErrors.inc({ operation }),
    tookOver: (outcome, count) => takeover.inc({ outcome }, count),
    commandRecovered: (outcome) => recovered.inc({ outcome }),
    rateLimited: (window) => limited.inc({ window }),
    errorAnswered: (type) => errors.inc({ type }),
    previewAnswered: (outcome) => previews.inc({ outcome }),
    requestAnswered: requestCounter(registry),
  };
}
