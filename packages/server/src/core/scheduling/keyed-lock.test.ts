import { expect, test } from 'vitest';
import { DeadlineExceeded } from './deadline.ts';
import { KeyedLock } from './keyed-lock.ts';

test('work under one key runs one after the other, also after a failure; other keys do not wait', async () => {
  const lock = new KeyedLock();
  const events: string[] = [];
  const first = Promise.withResolvers<void>();
  const failed = lock.run('a', async () => {
    await first.promise;
    events.push('first');
    throw new Error('broken');
  });
  const second = lock.run('a', async () => void events.push('second'));
  const other = lock.run('b', async () => void events.push('other'));
  await other;
  expect(events).toEqual(['other']);
  first.resolve();
  await expect(failed).rejects.toThrow('broken');
  await second;
  expect(events).toEqual(['other', 'first', 'second']);
});

test('work that waits too long never runs, and what comes after it still waits for what came before', async () => {
  const lock = new KeyedLock();
  const ended = Promise.withResolvers<void>();
  const ran: string[] = [];
  const first = lock.run('a', () => ended.promise);
  const late = lock.run('a', async () => void ran.push('late'), { waitMs: 1 });
  await expect(late).rejects.toThrow(DeadlineExceeded);
  const next = lock.run('a', async () => void ran.push('next'));
  await new Promise(setImmediate);
  expect(ran).toEqual([]);
  ended.resolve();
  await Promise.all([first, next]);
  expect(ran).toEqual(['next']);
});
