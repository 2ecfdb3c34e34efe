import { expect, test } from 'vitest';
import { changeUpload, enqueue, nextUpload, progressOf, type Upload } from './upload-queue.ts';

const into = (folder: string, existing: readonly string[] = []) => ({
  folder,
  existing: new Set(existing),
  maxBytes: 100_000,
});
const queued = (names: readonly string[], existing: readonly string[] = []) =>
  enqueue(
    [],
    names.map((name, id) => ({ id, name, size: 90_000 })),
    into('/w', existing),
  );
const kinds = (queue: readonly Upload[]) => queue.map(({ state }) => state.kind);

test('files are sent one at a time, in order', () => {
  let queue = queued(['a', 'b']);
  expect(nextUpload(queue)?.name).toBe('a');
  queue = changeUpload(queue, 0, { kind: 'sending', part: 0.5 });
  expect(nextUpload(queue)).toBeUndefined();
  queue = changeUpload(queue, 0, { kind: 'failed', reason: 'The disk is full.' });
  expect(nextUpload(queue)?.name).toBe('b');
  queue = changeUpload(queue, 1, { kind: 'done' });
  expect([nextUpload(queue), progressOf(queue)]).toEqual([undefined, undefined]);
});

test('nothing is replaced without a question, and the others do not wait for the answer', () => {
  const queue = queued(['a', 'b'], ['a']);
  expect(kinds(queue)).toEqual(['exists', 'waiting']);
  expect(nextUpload(queue)?.name).toBe('b');
  expect(kinds(enqueue(queue, [{ id: 9, name: 'b', size: 1 }], into('/w')))).toEqual(['exists', 'waiting', 'exists']);
  expect(kinds(enqueue(queue, [{ id: 9, name: 'b', size: 1 }], into('/other'))).at(-1)).toBe('waiting');
  const done = changeUpload(queue, 1, { kind: 'done' });
  expect(kinds(enqueue(done, [{ id: 9, name: 'b', size: 1 }], into('/w'))).at(-1)).toBe('exists');
});

test('what the service would refuse is not sent', () => {
  const queue = enqueue(
    [],
    [
      { id: 1, name: 'large', size: 100_001 },
      { id: 2, name: 'just', size: 100_000 },
      { id: 3, name: 'a/b', size: 1 },
    ],
    into('/w'),
  );
  expect(kinds(queue)).toEqual(['failed', 'waiting', 'failed']);
});

test('the progress covers all files together', () => {
  let queue = queued(['a', 'b', 'c', 'd'], ['d']);
  expect(progressOf(queue)).toBe(0);
  queue = changeUpload(queue, 0, { kind: 'done' });
  queue = changeUpload(queue, 1, { kind: 'sending', part: 0.5 });
  expect(progressOf(queue)).toBeCloseTo(0.5);
});
