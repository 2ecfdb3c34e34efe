import { expect, test, vi } from 'vitest';
import { StubMachine } from '../../../test/core/stub-driver.ts';
import { RecordedLog } from '../../../test/recorded-log.ts';
import { HostUnavailable } from '../ports/machine-driver.ts';
import { noMetrics } from '../ports/metrics.ts';
import { BackgroundTasks } from '../scheduling/background-tasks.ts';
import { Teardowns } from './teardowns.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };
const newTeardowns = () => new Teardowns({ background: new BackgroundTasks(), log, metrics: noMetrics });

test('an orphan that cannot be destroyed is retried until it can', async () => {
  using teardowns = newTeardowns();
  const machine = new StubMachine({ id: 'pool_a', size: 'small' });
  let attempts = 0;
  machine.beforeDestroyed = async () => {
    attempts += 1;
    if (attempts < 3) throw new Error('busy');
  };
  await teardowns.destroyOrphan(machine);
  expect([machine.destroyed, teardowns.waiting]).toEqual([false, 1]);
  await expect.poll(() => machine.destroyed).toBe(true);
  await expect.poll(() => [attempts, teardowns.waiting]).toEqual([3, 0]);
}, 15_000);

test('a machine whose host process was away for long is destroyed soon after its return', async () => {
  vi.useFakeTimers();
  try {
    const recorded = new RecordedLog();
    using teardowns = new Teardowns({ background: new BackgroundTasks(), log: recorded, metrics: noMetrics });
    const machine = new StubMachine({ id: 'pool_a', size: 'small' });
    let away = true;
    machine.beforeDestroyed = async () => {
      if (away) throw new HostUnavailable('the host process is not available');
    };
    await teardowns.destroyOrphan(machine);
    await vi.advanceTimersByTimeAsync(300_000);
    expect(recorded.eventsAt('error')).toEqual(['teardown_failed']);
    away = false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect([machine.destroyed, teardowns.waiting]).toEqual([true, 0]);
  } finally {
    vi.useRealTimers();
  }
});

test('a teardown that succeeds when it is asked for again is not retried', async () => {
  using teardowns = newTeardowns();
  const failing = teardowns.run('sbx_a', {}, () => Promise.reject(new Error('busy')));
  await expect(failing).rejects.toThrow('busy');
  expect(teardowns.waiting).toBe(1);
  await teardowns.run('sbx_a', {}, () => Promise.resolve());
  expect(teardowns.waiting).toBe(0);
});

test('disposing stops the retries', async () => {
  const teardowns = newTeardowns();
  const machine = new StubMachine({ id: 'pool_a', size: 'small' });
  machine.beforeDestroyed = () => Promise.reject(new Error('busy'));
  await teardowns.destroyOrphan(machine);
  teardowns[Symbol.dispose]();
  expect(teardowns.waiting).toBe(0);
});
