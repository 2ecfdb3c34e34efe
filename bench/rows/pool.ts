import { setTimeout as wait } from 'node:timers/promises';
import type { BenchHost } from '../support/bench-host.ts';
import { alternate, timed } from '../support/measure.ts';
import type { Row } from '../support/table.ts';
import { restoreWithoutService } from './restore-without-service.ts';

const rounds = 9;
const together = 20;
const baseline = 'bare restore to first answer';
const template = 'bench';
const poolFullMs = 60_000;

const readyMachines = 'mayfly_pool_machines_ready{size="small"}';
const pooledCreates = 'mayfly_create_duration_seconds_count{size="small",pooled="yes",outcome="ready"}';

/** The pool of the service that is measured: one machine of the base template, and one of a template once `poolRows` has made that. */
export const poolSettings = { MAYFLY_POOL: `small=1,template:${template}=1` };

async function create(bench: BenchHost, body?: unknown): Promise<string> {
  return ((await bench.call('POST', '/sandboxes', 201, body)) as { id: string }).id;
}

async function createAndEcho(bench: BenchHost): Promise<string> {
  const id = await create(bench);
  await bench.call('POST', `/sandboxes/${id}/exec`, 200, { command: 'echo hello' });
  return id;
}

/**
 * Resolves once this many machines are ready. The metrics count base template and template together. As the pool keeps one machine of each, two are ready
 * only if both are there.
 */
async function waitForPool(bench: BenchHost, count: number): Promise<void> {
  const untilMs = performance.now() + poolFullMs;
  while ((await bench.metric(readyMachines)) < count) {
    if (performance.now() > untilMs) throw new Error('the pool did not fill');
    await wait(20);
  }
}

/** Times the work once the pool has this many machines, then deletes the sandbox it created. Throws if that did not come from the pool. */
async function claimed(bench: BenchHost, count: number, work: () => Promise<string>): Promise<number> {
  await waitForPool(bench, count);
  const before = await bench.metric(pooledCreates);
  const { ms, result } = await timed(work);
  if ((await bench.metric(pooledCreates)) !== before + 1) throw new Error(`${result} did not come from the pool`);
  await bench.call('DELETE', `/sandboxes/${result}`, 200);
  await waitForPool(bench, count);
  return ms;
}

/** Creates that claim a machine from the pool: alone, with a first command, and twenty at once; then of a template, compared with the base template. */
export async function poolRows(bench: BenchHost): Promise<Row[]> {
  const bare = () => restoreWithoutService(bench, 'small');
  const claim = await alternate(rounds, () => claimed(bench, 1, () => create(bench)), bare);
  const echo = await alternate(rounds, () => claimed(bench, 1, () => createAndEcho(bench)), bare);
  await waitForPool(bench, 1);
  const { ms, result } = await timed(() => Promise.all(Array.from({ length: together }, () => createAndEcho(bench))));
  await Promise.all(result.map((id) => bench.call('DELETE', `/sandboxes/${id}`, 200)));
  const each = { measuredMs: ms / together, baselineMs: echo.baselineMs };
  return [
    { name: 'create from the pool', baseline, target: 0.25, ...claim },
    { name: 'create from the pool → echo', baseline, ...echo },
    { name: `create → echo, ${together} at once, per sandbox`, baseline, ...each },
    await templateRow(bench),
  ];
}

/** The pool finds the template within seconds after its snapshot was taken. */
async function templateRow(bench: BenchHost): Promise<Row> {
  const id = await create(bench);
  await bench.call('POST', `/sandboxes/${id}/exec`, 200, { command: 'head -c 64M /dev/urandom > prepared' });
  await bench.call('POST', `/sandboxes/${id}/snapshots`, 201, { alias: template });
  await bench.call('DELETE', `/sandboxes/${id}`, 200);
  const medians = await alternate(
    rounds,
    () => claimed(bench, 2, () => create(bench, { template })),
    () => claimed(bench, 2, () => create(bench)),
  );
  return { name: 'create from a pooled template', baseline: 'create from the pool', target: 1.2, ...medians };
}
