import { expect, test } from 'vitest';
import { StubDriver } from '../../../test/core/stub-driver.ts';
import type { LaunchRequest, Machine } from '../ports/machine-driver.ts';
import { noMetrics } from '../ports/metrics.ts';
import { Launcher } from './launcher.ts';

const neverLate = () => {
  throw new Error('a machine was late');
};

/** One launch at a time. Launches of the machine `held` wait until `release` is called. */
function oneAtATime({ deadlineMs = 10_000 } = {}) {
  const driver = new StubDriver();
  const launcher = new Launcher({ driver, metrics: noMetrics, concurrency: 1, deadlineMs });
  const { promise, resolve: release } = Promise.withResolvers<void>();
  driver.beforeLaunched = async ({ id }) => {
    if (id === 'held') await promise;
    if (id === 'broken') throw new Error('no template');
  };
  const launched = () => driver.machines.map(({ id }) => id);
  return { launcher, launched, release };
}
const small = (id: string, signal?: AbortSignal): LaunchRequest =>
  signal === undefined ? { id, size: 'small' } : { id, size: 'small', signal };

test('bounds concurrent launches, and launches for creates go before those for the pool', async () => {
  const { launcher, launched, release } = oneAtATime();
  const launches = [
    launcher.launch(small('held'), 'pool', neverLate),
    launcher.launch(small('for_pool'), 'pool', neverLate),
    launcher.launch(small('for_create'), 'create', neverLate),
  ];
  expect([launcher.inFlight, launcher.waiting, launched()]).toEqual([1, 2, []]);
  release();
  await Promise.all(launches);
  expect(launched()).toEqual(['held', 'for_create', 'for_pool']);
});

test('a failed launch makes room for the next', async () => {
  const { launcher } = oneAtATime();
  await expect(launcher.launch(small('broken'), 'create', neverLate)).rejects.toThrow('no template');
  expect((await launcher.launch(small('next'), 'create', neverLate)).id).toBe('next');
});

test('a launch that is cancelled while it waits leaves the queue', async () => {
  const { launcher, launched, release } = oneAtATime();
  const running = launcher.launch(small('held'), 'create', neverLate);
  const abort = new AbortController();
  const cancelled = launcher.launch(small('cancelled', abort.signal), 'create', neverLate);
  abort.abort(new Error('deleted'));
  await expect(cancelled).rejects.toThrow('deleted');
  release();
  await running;
  await launcher.launch(small('next'), 'pool', neverLate);
  expect(launched()).toEqual(['held', 'next']);
});

test('a running launch keeps its machine and its place when its signal fires', async () => {
  const { launcher, release } = oneAtATime();
  const abort = new AbortController();
  const running = launcher.launch(small('held', abort.signal), 'create', neverLate);
  abort.abort(new Error('deleted'));
  expect(launcher.inFlight).toBe(1);
  release();
  expect((await running).id).toBe('held');
});

test('a machine that is ready after the deadline goes to onLate', async () => {
  const { launcher, release } = oneAtATime({ deadlineMs: 1 });
  const late = Promise.withResolvers<Machine>();
  await expect(launcher.launch(small('held'), 'create', late.resolve)).rejects.toThrow('took longer than 1 ms');
  release();
  expect((await late.promise).id).toBe('held');
});
