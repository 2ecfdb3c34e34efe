import { expect, test } from 'vitest';
import { notStartedCode } from '../confinement/start-confined.ts';
import { cannotStartCode, cannotStartYetCode } from '../process/start-failure.ts';
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
    kind: 'give_up',
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

test('a process that could not start yet gives up once it knows why it never can', () => {
  const policy = new RestartPolicy();
  policy.afterEnd({ code: cannotStartYetCode, signal: null, uptimeMs: 10 });
  expect(policy.afterEnd({ code: cannotStartCode, signal: null, uptimeMs: 10 }).kind).toBe('give_up');
});

test('a process that cannot start yet is tried again, as long as it takes', () => {
  const policy = new RestartPolicy();
  const notYet = { code: cannotStartYetCode, signal: null, uptimeMs: 10 };
  for (let count = 0; count < 20; count += 1) expect(policy.afterEnd(notYet).kind).toBe('restart');
});

test('a process that mayfly-jail could never start is not tried again; one that ran before is', () => {
  const notStarted = { code: notStartedCode, signal: null, uptimeMs: 10 };
  expect(new RestartPolicy().afterEnd(notStarted)).toEqual({ kind: 'give_up', exitCode: 1 });
  const policy = new RestartPolicy();
  policy.afterEnd(crash);
  expect(policy.afterEnd(notStarted).kind).toBe('restart');
});

test('an end is described by its signal or its exit code, and as what it was for people', () => {
  expect(describeEnd(crash)).toBe('ended (killed by SIGSEGV)');
  expect(describeEnd({ code: 139, signal: null })).toBe('ended (killed by SIGSEGV)');
  expect(describeEnd({ code: 3, signal: null })).toBe('ended (exit code 3)');
  expect(describeEnd({ code: 255, signal: null })).toBe('ended (exit code 255)');
  expect(describeEnd({ code: null, signal: null })).toBe('could not be started');
  expect(describeEnd({ code: notStartedCode, signal: null })).toBe('could not be started');
  expect(describeEnd({ code: cannotStartCode, signal: null })).toBe('cannot start');
  expect(describeEnd({ code: cannotStartYetCode, signal: null })).toBe('cannot start yet');
});
