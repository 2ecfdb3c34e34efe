import { expect, test } from 'vitest';
import { failedIds, type Outcome, progressOf, requestsAtOnce, runEach } from './bulk.ts';

const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];

/** Work that ends when the test says so. */
function controlled() {
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const work = (id: string) => {
    const end = Promise.withResolvers<void>();
    ends.set(id, end);
    return end.promise;
  };
  return { ends, work };
}

function recorded() {
  const outcomes = new Map<string, Outcome>();
  return { outcomes, note: (id: string, outcome: Outcome) => void outcomes.set(id, outcome) };
}

const statesOf = (outcomes: ReadonlyMap<string, Outcome>) =>
  [...outcomes.values()].map(({ state }) => state[0]).join('');

test('at most four run side by side, in order, and each that ends lets the next begin', async () => {
  const { ends, work } = controlled();
  const { outcomes, note } = recorded();
  const all = runEach(ids, work, note);
  expect([...ends.keys()]).toEqual(ids.slice(0, requestsAtOnce));
  expect(statesOf(outcomes)).toBe('rrrrwww');
  ends.get('c')?.resolve();
  await expect.poll(() => statesOf(outcomes)).toBe('rrsrrww');
  for (const id of ids) {
    await expect.poll(() => ends.has(id)).toBe(true);
    ends.get(id)?.resolve();
  }
  await all;
  expect(progressOf(outcomes)).toEqual({ total: 7, succeeded: 7, failed: 0, isOver: true });
});

test('a failure ends nothing else, and is what can be repeated', async () => {
  const { outcomes, note } = recorded();
  const failure = new Error('busy');
  const work = (id: string) => (id === 'b' || id === 'f' ? Promise.reject(failure) : Promise.resolve());
  await runEach(ids, work, note);
  expect(outcomes.get('b')).toEqual({ state: 'failed', error: failure });
  expect(progressOf(outcomes)).toEqual({ total: 7, succeeded: 5, failed: 2, isOver: true });
  expect(failedIds(outcomes)).toEqual(['b', 'f']);
});

test('after the end nothing further begins', async () => {
  const { ends, work } = controlled();
  const { outcomes, note } = recorded();
  const end = new AbortController();
  const all = runEach(ids, work, note, end.signal);
  end.abort();
  for (const { resolve } of ends.values()) resolve();
  await all;
  expect(statesOf(outcomes)).toBe('sssswww');
  expect(progressOf(outcomes).isOver).toBe(false);
});

test('without any there is nothing to do', async () => {
  const { outcomes, note } = recorded();
  await runEach([], () => Promise.reject(new Error('never')), note);
  expect(progressOf(outcomes)).toEqual({ total: 0, succeeded: 0, failed: 0, isOver: false });
});
