import { expect, test, vi } from 'vitest';
import { createAnnouncer, formatElapsed } from './announce.ts';

test('elapsed time reads naturally', () => {
  expect([40, 9_949, 9_960, 61_000, 185_000].map(formatElapsed)).toEqual([
    '0.0 s',
    '9.9 s',
    '10 s',
    '61 s',
    '3 min 5 s',
  ]);
});

test('a long step repeats itself with its latest detail where there is no terminal', async () => {
  vi.useFakeTimers();
  const written: string[] = [];
  const announcer = createAnnouncer({ write: (text) => written.push(text) }, () => Date.now());
  const { promise, resolve } = Promise.withResolvers<string>();
  const result = announcer.step('guest image', (report) => {
    report('installing packages');
    return promise;
  });
  await vi.advanceTimersByTimeAsync(20_000);
  resolve('done');
  expect(await result).toBe('done');
  vi.useRealTimers();
  expect(written).toEqual([
    '▸ guest image …\n',
    '▸ guest image … 10 s · installing packages\n',
    '▸ guest image … 20 s · installing packages\n',
    '✓ guest image … 20 s\n',
  ]);
});

test('a failed step says so and passes the failure on', async () => {
  const written: string[] = [];
  const announcer = createAnnouncer({ write: (text) => written.push(text) });
  await expect(announcer.step('agent', () => Promise.reject(new Error('no compiler')))).rejects.toThrow('no compiler');
  expect(written.at(-1)).toMatch(/^✗ agent … /);
});
