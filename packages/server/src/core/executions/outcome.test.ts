import { expect, test } from 'vitest';
import { BudgetExceeded } from '../budgets/shared-budget.ts';
import { ApiError } from '../errors/api-error.ts';
import { type ExecuteResult, GuestRefusal, GuestUnreachable, MachineDetached, NoRoom } from '../ports/guest-agent.ts';
import { decodeOutput, outcomeOf } from './outcome.ts';

const clock = { nowMs: () => 5_000 };
const result: ExecuteResult = {
  exitCode: 3,
  timedOut: false,
  oomKilled: false,
  durationMs: 700.4,
  truncated: false,
  stdout: Buffer.from('out'),
  stderr: Buffer.from('err'),
  writtenBytes: 6,
};

test('a command that ended has its exit code, its output and the times of the host', async () => {
  expect(await outcomeOf(Promise.resolve(result), 4_000, clock)).toEqual({
    kind: 'completed',
    end: {
      status: 'completed',
      exitCode: 3,
      stdout: result.stdout,
      stderr: result.stderr,
      truncated: false,
      oomKilled: false,
      durationMs: 700,
      finishedAtMs: 5_000,
      writtenBytes: 6,
    },
  });
});

test('no duration is longer than the time that has passed on the host, nor negative', async () => {
  const durations = [9_999, -1].map(async (durationMs) => {
    const { end } = await outcomeOf(Promise.resolve({ ...result, durationMs }), 4_000, clock);
    return end?.durationMs;
  });
  expect(await Promise.all(durations)).toEqual([1_000, 0]);
});

test('a command that reached its timeout has exit code 124', async () => {
  const outcome = await outcomeOf(Promise.resolve({ ...result, timedOut: true }), 4_000, clock);
  expect(outcome).toMatchObject({ kind: 'timed_out', end: { status: 'timeout', exitCode: 124 } });
});

test.each([
  ['refused', new GuestRefusal('bad_cwd', 'no such directory')],
  ['refused', new GuestRefusal('arguments_too_large', 'too long')],
  ['refused', new GuestRefusal('bad_request', 'a null byte')],
  ['lost', new GuestRefusal('internal', 'cannot fork')],
  ['lost', new GuestUnreachable('the machine is gone')],
  ['lost', new NoRoom(1)],
  ['lost', new ApiError('internal_error', 'another error')],
  ['lost', 'no error at all'],
])('%s is the end of a command that fails with %s', async (kind, error) => {
  const end = { status: 'failed', exitCode: null, durationMs: null, finishedAtMs: 5_000 };
  expect(await outcomeOf(Promise.reject(error as Error), 4_000, clock)).toMatchObject({ kind, error, end });
});

test.each([
  ['detached', new MachineDetached()],
  ['no_room', new BudgetExceeded()],
  ['no_room', new ApiError('rate_limit_exceeded', 'too many', { cause: new BudgetExceeded() })],
])('%s is no end: the result can still be collected after %s', async (kind, error) => {
  expect(await outcomeOf(Promise.reject(error), 4_000, clock)).toEqual({ kind, error });
});

test('text is unchanged, including a byte order mark', () => {
  expect(decodeOutput(Buffer.from('\ufeffgrüße 🦋\n'), false)).toBe('\ufeffgrüße 🦋\n');
});

test('bytes that are not UTF-8 become U+FFFD', () => {
  expect(decodeOutput(Buffer.from([0x61, 0xff, 0x62, 0xe2, 0x82]), false)).toBe('a\ufffdb\ufffd');
});

test('a character that the capture limit cut is dropped', () => {
  const butterfly = Buffer.from('ok🦋');
  for (let length = 2; length < butterfly.length; length++) {
    expect(decodeOutput(butterfly.subarray(0, length), true)).toBe('ok');
  }
});
