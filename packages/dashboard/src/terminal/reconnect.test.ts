import { expect, test } from 'vitest';
import { failureOf, RequestFailure } from '../api/failure.ts';
import { afterAnswer, afterClose, reconnectDelayMs } from './reconnect.ts';

const closed = { code: 1006, reason: '', exitCode: undefined, wasReady: true };

test('a connection that closes without an exit code was lost', () => {
  expect(afterClose(closed)).toEqual({ kind: 'retry' });
  expect(afterClose({ ...closed, code: 1012, reason: 'the service is stopping' })).toEqual({ kind: 'retry' });
  expect(afterClose({ ...closed, code: 1001 })).toEqual({ kind: 'retry' });
});

test('a shell that has exited stays so, whatever the code of the connection', () => {
  expect(afterClose({ ...closed, exitCode: 3 })).toEqual({ kind: 'ended', exitCode: 3 });
  expect(afterClose({ ...closed, code: 1000, exitCode: 0 })).toEqual({ kind: 'ended', exitCode: 0 });
});

test('the end of a sandbox is told with its reason', () => {
  const reason = 'the sandbox was stopped';
  expect(afterClose({ ...closed, code: 1001, reason })).toEqual({ kind: 'gone', reason: 'The sandbox was stopped.' });
});

test('a terminal that was never shown is asked for', () => {
  expect(afterClose({ ...closed, wasReady: false })).toEqual({ kind: 'ask' });
});

const told = { ids: ['term_a'], limit: 16 };

test('a terminal that is not listed has ended, one that is listed is tried again', () => {
  expect(afterAnswer(told, { session: 'term_b', failures: 0 })).toEqual({ kind: 'ended', exitCode: undefined });
  expect(afterAnswer(told, { session: 'term_a', failures: 0 })).toEqual({ kind: 'retry' });
});

test('a new terminal is refused where there are too many', () => {
  const full = { ids: Array.from({ length: 16 }, (_, index) => `term_${index}`), limit: 16 };
  expect(afterAnswer(full, { session: undefined, failures: 0 })).toMatchObject({ kind: 'gone' });
  expect(afterAnswer(full, { session: 'term_3', failures: 0 })).toEqual({ kind: 'retry' });
});

test('what is refused again and again is not tried for ever', () => {
  expect(afterAnswer(told, { session: undefined, failures: 1 }).kind).toBe('retry');
  expect(afterAnswer(told, { session: undefined, failures: 2 }).kind).toBe('gone');
  expect(afterAnswer(told, { session: 'term_a', failures: 5 }).kind).toBe('retry');
  expect(afterAnswer(told, { session: 'term_a', failures: 6 }).kind).toBe('gone');
});

test.each([
  ['the service is down', new RequestFailure('connection_lost', 'No.'), 'retry'],
  ['there were too many requests', refusal(429, 'rate_limit_exceeded'), 'retry'],
  ['the machine does not answer', refusal(502, 'execution_failed'), 'retry'],
  ['the sandbox does not run', refusal(409, 'sandbox_not_running'), 'gone'],
  ['the sandbox was deleted', refusal(404, 'not_found'), 'gone'],
  ['the session has ended', refusal(401, 'unauthorized'), 'gone'],
])('while %s', (_, error, kind) => {
  expect(afterAnswer({ error }, { session: 'term_a', failures: 0 }).kind).toBe(kind);
});

function refusal(status: number, type: string): RequestFailure {
  return failureOf(status, new Headers(), { error: { type, message: 'No.' }, request_id: 'req_1' });
}

test('attempts grow rarer, but never rarer than every quarter of a minute', () => {
  expect([0, 1, 2, 3, 4, 5, 50].map(reconnectDelayMs)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
});
