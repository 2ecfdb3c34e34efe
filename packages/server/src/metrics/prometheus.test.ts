import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Readings } from '../core/ports/metrics.ts';
import { createPrometheusMetrics, processRegistry } from './prometheus.ts';

const documents = new URL('../../../../docs/', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, documents), 'utf8');
const readings: Readings = {
  sandboxes: async () => [{ status: 'running', size: 'small', count: 3 }],
  snapshots: async () => [{ status: 'ready', count: 2, bytes: 4_096 }],
  poolReady: (size) => (size === 'small' ? 1 : 0),
  poolTarget: () => 2,
  restoresInFlight: () => 1,
  restoresWaiting: () => 4,
  teardownsWaiting: () => 5,
  previewsOpen: () => 6,
  resultBytesHeld: () => 7,
  resultsWaiting: () => 8,
  bodyBytesHeld: () => 9,
  uploadsOpen: () => 10,
  commandsWaiting: () => 9,
};

function watched(more: Partial<Readings> = {}) {
  const metrics = createPrometheusMetrics();
  metrics.watch({ ...readings, ...more });
  return metrics;
}

async function names(): Promise<string[]> {
  const registries = [watched().registry, processRegistry()];
  return (await Promise.all(registries.map((registry) => registry.getMetricsAsJSON()))).flat().map(({ name }) => name);
}

test('docs/metrics.md lists every metric and no other', async () => {
  const listed = Array.from(read('metrics.md').matchAll(/^\| `(mayfly_\w+)`/gm), ([, name = '']) => name);
  expect(listed.toSorted()).toEqual((await names()).toSorted());
});

test('the dashboard is valid and queries every metric of the service, and no unknown one', async () => {
  interface Panel {
    readonly id: number;
    readonly type: string;
    readonly targets?: readonly { readonly expr: string }[];
  }
  const dashboard = JSON.parse(read('grafana/mayfly.json')) as { panels: Panel[]; schemaVersion: number };
  expect(dashboard).toMatchObject({
    title: 'Mayfly',
    templating: { list: [{ name: 'datasource', type: 'datasource' }] },
  });
  expect(dashboard.schemaVersion).toBeGreaterThanOrEqual(39);
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  const queries = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  const used = queries.flatMap((query) => query.match(/mayfly_\w+/g) ?? []);
  const known = new Set((await names()).flatMap((name) => [name, `${name}_bucket`, `${name}_count`]));
  expect(used.filter((name) => !known.has(name))).toEqual([]);
  const own = (await watched().registry.getMetricsAsJSON()).map(({ name }) => name);
  expect(own.filter((name) => !queries.some((query) => query.includes(name)))).toEqual([]);
});

test('readings show the current value, and zero where there is none', async () => {
  const text = await watched().text();
  expect(text).toContain('mayfly_sandboxes{status="running",size="small"} 3');
  expect(text).toContain('mayfly_sandboxes{status="deleting",size="large"} 0');
  expect(text).toContain('mayfly_snapshots{status="ready"} 2');
  expect(text).toContain('mayfly_snapshots{status="failed"} 0');
  expect(text).toContain('mayfly_snapshot_stored_bytes{status="ready"} 4096');
  expect(text).toContain('mayfly_pool_machines_ready{size="small"} 1');
  expect(text).toContain('mayfly_restores_waiting 4');
  expect(text).toContain('mayfly_teardowns_waiting 5');
  expect(text).toContain('mayfly_process_resident_memory_bytes ');
});

test('a database failure removes only its own metrics from the page', async () => {
  const text = await watched({ sandboxes: () => Promise.reject(new Error('down')) }).text();
  expect(text).not.toContain('mayfly_sandboxes{');
  expect(text).toContain('mayfly_pool_machines_target{size="large"} 2');
});

test('counters whose labels are known start at zero', async () => {
  const text = await watched().text();
  expect(text).toContain('mayfly_errors_total{type="internal_error"} 0');
  expect(text).toContain('mayfly_rate_limit_refusals_total{window="creations"} 0');
  expect(text).toContain('mayfly_capacity_refusals_total{reason="host"} 0');
  expect(text).toContain('mayfly_pool_claims_total{size="large",outcome="miss"} 0');
  expect(text).not.toMatch(/mayfly_(http_requests|store_errors)_total\{/);
});

test('times are in seconds, and withdrawn credit has its own counter', async () => {
  const metrics = watched();
  metrics.createEnded({ size: 'small', pooled: true, outcome: 'ready', durationMs: 40 });
  metrics.commandEnded('completed', 1_000, 1_250);
  metrics.credited(7);
  metrics.credited(-3);
  metrics.charged(2);
  const text = await metrics.text();
  expect(text).toContain('mayfly_create_duration_seconds_sum{size="small",pooled="yes",outcome="ready"} 0.04');
  expect(text).toContain('mayfly_command_duration_seconds_sum{status="completed"} 1');
  expect(text).toContain('mayfly_command_overhead_seconds_sum 0.25');
  expect(text).toContain('mayfly_ledger_credited_micro_usd_total 7');
  expect(text).toContain('mayfly_ledger_withdrawn_micro_usd_total 3');
  expect(text).toContain('mayfly_ledger_charged_micro_usd_total 2');
});
