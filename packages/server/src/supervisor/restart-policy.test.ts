import { expect, test } from 'vitest';
import { cannotStartCode } from '../process/exit-codes.ts';
import { describeEnd, RestartPolicy } from './restart-policy.ts';

const crash = { code: null, signal: 'SIGSEGV', uptimeMs: 1_000 } as const;

test('a process that crashes again and again is restarted with pauses that grow to half a minute', () => {
  const policy = new RestartPolicy();
  const pauses = Array.from({ length: 10 }, () => policy.afterEnd(crash)).map((after) =>
    after.kind === 'restart' ? after.pauseMs : undefined,
  );
  expect(pauses).toEqual([200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
});

test('a process that ran for a minute is restarted at once', () => {
  const policy = new RestartPolicy();
  for (let count = 0; count < 5; count += 1) policy.afterEnd(crash);
  expect(policy.afterEnd({ ...crash, uptimeMs: 60_000 })).toEqual({ kind: 'restart', pauseMs: 200 });
});

test('a process that said why it cannot start is not restarted', () => {
  const policy = new RestartPolicy();
  expect(policy.afterEnd({ code: cannotStartCode, signal: null, uptimeMs: 10 })).toEqual({
    kind: 'give up',
    exitCode: 1,
  });
});

test('a process that ran before is restarted even if it says that it cannot start, because the reason may go away', () => {
  const policy = new RestartPolicy();
  policy.afterEnd(crash);
  const cannotStart = { code: cannotStartCode, signal: null, uptimeMs: 10 };
  expect(policy.afterEnd(cannotStart)).toEqual({ kind: 'restart', pauseMs: 400 });
  expect(policy.afterEnd(cannotStart)).toEqual({ kind: 'restart', pauseMs: 800 });
});

test('an end is described by its signal or its exit code', () => {
  expect(describeEnd(crash)).toBe('killed by SIGSEGV');
  expect(describeEnd({ code: 3, signal: null })).toBe('exit code 3');
});
