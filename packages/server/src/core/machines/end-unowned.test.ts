import { expect, test } from 'vitest';
import { StubMachine } from '../../../test/core/stub-driver.ts';
import { noMetrics } from '../ports/metrics.ts';
import { BackgroundTasks } from '../scheduling/background-tasks.ts';
import { endUnowned } from './end-unowned.ts';
import { Teardowns } from './teardowns.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };

test('a machine that would not go is tried again until it does', async () => {
  using teardowns = new Teardowns(() => {});
  const machine = new StubMachine({ id: 'pool_a', size: 'small' });
  let tries = 0;
  machine.beforeDestroyed = async () => {
    tries += 1;
    if (tries < 3) throw new Error('busy');
  };
  await endUnowned({ teardowns, background: new BackgroundTasks(), log, metrics: noMetrics }, machine);
  expect([machine.destroyed, teardowns.waiting]).toEqual([false, 1]);
  await expect.poll(() => machine.destroyed, { timeout: 10_000 }).toBe(true);
  expect([tries, teardowns.waiting]).toEqual([3, 0]);
}, 15_000);

test('a stop tries no more', async () => {
  const teardowns = new Teardowns(() => {});
  const machine = new StubMachine({ id: 'pool_a', size: 'small' });
  machine.beforeDestroyed = () => Promise.reject(new Error('busy'));
  await endUnowned({ teardowns, background: new BackgroundTasks(), log, metrics: noMetrics }, machine);
  teardowns[Symbol.dispose]();
  expect(teardowns.waiting).toBe(0);
});
