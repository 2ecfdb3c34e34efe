import { expect, test } from 'vitest';
import { RestoreGate } from './restore-gate.ts';

/** Work that a test ends. */
function held() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { work: () => promise, end: resolve };
}

test('no more at once than allowed, and somebody’s create before the pool’s own', async () => {
  const gate = new RestoreGate(1);
  const order: string[] = [];
  const first = held();
  const running = gate.run(false, first.work);
  const waiting = [
    gate.run(false, async () => void order.push('pool')),
    gate.run(true, async () => void order.push('create')),
  ];
  expect([gate.inFlight, gate.waiting, order]).toEqual([1, 2, []]);
  first.end();
  await Promise.all([running, ...waiting]);
  expect(order).toEqual(['create', 'pool']);
});

test('a failure makes room for the next', async () => {
  const gate = new RestoreGate(1);
  await expect(gate.run(true, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await gate.run(true, async () => 'yes')).toBe('yes');
});

test('who is called off while waiting leaves the queue and takes no place', async () => {
  const gate = new RestoreGate(1);
  const first = held();
  const running = gate.run(true, first.work);
  const abort = new AbortController();
  const calledOff = gate.run(true, async () => 'never', abort.signal);
  abort.abort(new Error('deleted'));
  await expect(calledOff).rejects.toThrow('deleted');
  first.end();
  await running;
  expect(await gate.run(false, async () => 'free')).toBe('free');
});
