import { expect, test } from 'vitest';
import type { ExecutionRecord } from '../../ports/store/execution-store.ts';
import { storedEvents } from './follow.ts';

const record: ExecutionRecord = {
  id: 'exec_1',
  accountId: 'acct_1',
  sandboxId: 'sbx_1',
  status: 'completed',
  exitCode: 0,
  stdout: Buffer.from('out'),
  stderr: Buffer.from('error'),
  truncated: false,
  outputDropped: false,
  oomKilled: false,
  durationMs: 1,
  startedAtMs: 0,
  finishedAtMs: 1,
  isLive: false,
  writtenBytes: 8,
};

const from = (position: number, change: Partial<ExecutionRecord> = {}) => {
  const events = [...storedEvents({ ...record, ...change }, position)];
  return events.map((event) =>
    event.kind === 'gap'
      ? `gap ${event.lostBytes} ${event.position}`
      : `${event.kind} ${Buffer.from(event.bytes).toString()} ${event.position}`,
  );
};

test('a stored execution is continued at any position', () => {
  expect(from(0)).toEqual(['stdout out 3', 'stderr error 8']);
  expect(from(2)).toEqual(['stdout t 3', 'stderr error 8']);
  expect(from(3)).toEqual(['stderr error 8']);
  expect(from(6)).toEqual(['stderr or 8']);
  expect(from(8)).toEqual([]);
});

test('what is not stored is reported as a gap', () => {
  expect(from(0, { writtenBytes: 1_000, truncated: true })).toEqual(['stdout out 3', 'stderr error 8', 'gap 992 1000']);
  const dropped = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0), outputDropped: true };
  expect(from(0, dropped)).toEqual(['gap 8 8']);
});

test('the record of a live command serves a reader that has read nothing; others are told what they miss', () => {
  expect(from(0, { isLive: true })).toEqual(['stdout out 3', 'stderr error 8']);
  expect(from(3, { isLive: true })).toEqual(['gap 5 8']);
  expect(from(8, { isLive: true })).toEqual([]);
});

test('a command without a result has nothing more', () => {
  const lost = { status: 'failed', stdout: Buffer.alloc(0), stderr: Buffer.alloc(0), writtenBytes: null } as const;
  expect(from(5, lost)).toEqual([]);
});
