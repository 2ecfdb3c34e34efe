import type { BenchHost } from '../support/bench-host.ts';
import { alternate, timed } from '../support/measure.ts';
import type { Row } from '../support/table.ts';
import { restoreWithoutService } from './restore-without-service.ts';

const rounds = 9;
const together = 20;
const baseline = 'bare restore to first answer';

async function create(bench: BenchHost): Promise<string> {
  return ((await bench.call('POST', '/sandboxes', 201)) as { id: string }).id;
}

async function createAndEcho(bench: BenchHost): Promise<string> {
  const id = await create(bench);
  await bench.call('POST', `/sandboxes/${id}/exec`, 200, { command: 'echo hello' });
  return id;
}

/** Times the work once the pool is full, then deletes the sandbox it created. */
async function claimed(bench: BenchHost, work: () => Promise<string>): Promise<number> {
  await bench.waitForPool();
  const { ms, result } = await timed(work);
  await bench.call('DELETE', `/sandboxes/${result}`, 200);
  await bench.waitForPool();
  return ms;
}

/** Creates that claim a machine from the pool: alone, with a first command, and twenty at once. */
export async function poolRows(bench: BenchHost): Promise<Row[]> {
  const bare = () => restoreWithoutService(bench, 'small');
  const claim = await alternate(rounds, () => claimed(bench, () => create(bench)), bare);
  const echo = await alternate(rounds, () => claimed(bench, () => createAndEcho(bench)), bare);
  await bench.waitForPool();
  const { ms, result } = await timed(() => Promise.all(Array.from({ length: together }, () => createAndEcho(bench))));
  await Promise.all(result.map((id) => bench.call('DELETE', `/sandboxes/${id}`, 200)));
  const each = { measuredMs: ms / together, baselineMs: echo.baselineMs };
  return [
    { name: 'create from the pool', baseline, target: 0.25, ...claim },
    { name: 'create from the pool → echo', baseline, ...echo },
    { name: `create → echo, ${together} at once, per sandbox`, baseline, ...each },
  ];
}
