import { expect, test } from 'vitest';
import { FixedWindow, sourceKey } from './rate-windows.ts';

class StubClock {
  ms = 0;
  nowMs(): number {
    return this.ms;
  }
}

test('requests up to the limit pass, the next one does not, and the next window starts from zero', () => {
  const clock = new StubClock();
  const window = new FixedWindow(clock);
  const takeAt = (ms: number) => {
    clock.ms = ms;
    const counted = window.take('a', 2);
    return { exceeded: counted.exceeded, ...counted.current() };
  };
  expect(takeAt(0)).toEqual({ limit: 2, remaining: 1, resetSeconds: 60, exceeded: false });
  expect(takeAt(59_000)).toEqual({ limit: 2, remaining: 0, resetSeconds: 1, exceeded: false });
  expect(takeAt(59_999)).toEqual({ limit: 2, remaining: 0, resetSeconds: 1, exceeded: true });
  expect(takeAt(60_000)).toEqual({ limit: 2, remaining: 1, resetSeconds: 60, exceeded: false });
});

test('a request that outlives its window describes the window that is current then', () => {
  const clock = new StubClock();
  const window = new FixedWindow(clock);
  const long = window.take('a', 5);
  clock.ms = 90_000;
  expect(long.current()).toEqual({ limit: 5, remaining: 5, resetSeconds: 30 });
  window.take('a', 5);
  expect(long.current()).toEqual({ limit: 5, remaining: 4, resetSeconds: 30 });
});

test('keys are counted separately', () => {
  const window = new FixedWindow(new StubClock());
  expect(window.take('a', 1).exceeded).toBe(false);
  expect(window.take('b', 1).exceeded).toBe(false);
  expect(window.take('a', 1).exceeded).toBe(true);
});

test('a flood of keys does not use unlimited memory, and new keys are still counted', () => {
  const window = new FixedWindow(new StubClock());
  for (let key = 0; key < 100_000; key++) window.take(`source ${key}`, 1);
  expect(window.take('one more', 1).exceeded).toBe(false);
  expect(window.take('one more', 1).exceeded).toBe(true);
});

test.each([
  ['198.51.100.7', '198.51.100.7'],
  ['::ffff:198.51.100.7', '198.51.100.7'],
  ['::FFFF:c633:6407', '198.51.100.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002::1', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['', ''],
  ['no:address', 'no:address'],
])('%s is counted as %s', (address, key) => {
  expect(sourceKey(address)).toBe(key);
});
