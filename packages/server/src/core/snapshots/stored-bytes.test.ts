import { expect, test } from 'vitest';
import { storedBytes } from './stored-bytes.ts';

const file = (id: string, bytes: number) => ({ id, bytes });
const onDisk = (id: string, ...files: readonly ReturnType<typeof file>[]) => ({ id, size: 'small' as const, files });
const record = (id: string, createdAtMs: number, accountId = 'acct_1') => ({ id, accountId, createdAtMs });

const [ram, disk, later] = [file('ram-1', 100), file('disk-1', 10), file('ram-2', 5)];
const line = [onDisk('snap_a', ram, disk), onDisk('snap_b', ram, disk, later)];

test('a shared file counts for the oldest snapshot that has it', () => {
  const records = [record('snap_b', 2), record('snap_a', 1)];
  expect([...storedBytes(line, records)]).toEqual([
    ['snap_a', 110],
    ['snap_b', 5],
  ]);
});

test('once that snapshot is deleted, it counts for the next one', () => {
  expect([...storedBytes(line, [record('snap_b', 2)])]).toEqual([['snap_b', 115]]);
});

test('accounts do not share, and a snapshot without files is left out', () => {
  const records = [record('snap_a', 1), record('snap_b', 2, 'acct_2'), record('snap_c', 3)];
  expect([...storedBytes(line, records)]).toEqual([
    ['snap_a', 110],
    ['snap_b', 115],
  ]);
  expect(storedBytes([], records).size).toBe(0);
});
