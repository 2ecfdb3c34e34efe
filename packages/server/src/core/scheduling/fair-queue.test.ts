import { expect, test } from 'vitest';
import { FairQueue } from './fair-queue.ts';

const never = new AbortController().signal;
const nextTurn = () => new Promise(setImmediate);

/** Work that is held back until it is released by name. */
function heldWork(queue: FairQueue) {
  const started: string[] = [];
  const held = new Map<string, () => void>();
  const run = (key: string, name: string, signal = never) =>
    queue.run(
      key,
      () => {
        started.push(name);
        return new Promise<void>((resolve) => held.set(name, resolve));
      },
      signal,
    );
  const end = async (name: string) => {
    held.get(name)?.();
    await nextTurn();
  };
  return { started, run, end };
}

test('a few run at once, and each key has its turn', async () => {
  const { started, run, end } = heldWork(new FairQueue(2));
  for (const name of ['a1', 'a2', 'a3', 'a4']) void run('a', name);
  void run('b', 'b1');
  void run('b', 'b2');
  await nextTurn();
  expect(started).toEqual(['a1', 'a2']);
  for (const name of ['a1', 'a2', 'a3', 'b1', 'a4', 'b2']) await end(name);
  expect(started).toEqual(['a1', 'a2', 'a3', 'b1', 'a4', 'b2']);
  void run('c', 'c1');
  void run('c', 'c2');
  expect(started.slice(-2)).toEqual(['c1', 'c2']);
});

test('work whose signal aborts while it waits never runs, and the others go on', async () => {
  const { started, run, end } = heldWork(new FairQueue(1));
  const abort = new AbortController();
  void run('a', 'first');
  const abandoned = run('b', 'abandoned', abort.signal);
  void run('c', 'next');
  abort.abort(new Error('too late'));
  await expect(abandoned).rejects.toThrow('too late');
  await end('first');
  expect(started).toEqual(['first', 'next']);
  await expect(run('d', 'aborted before', abort.signal)).rejects.toThrow('too late');
});

test('work that fails gives its place to the next', async () => {
  const queue = new FairQueue(1);
  const failed = queue.run('a', () => Promise.reject(new Error('no')), never);
  const next = queue.run('a', async () => 'done', never);
  await expect(failed).rejects.toThrow('no');
  expect(await next).toBe('done');
});
