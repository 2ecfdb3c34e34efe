import { describe, expect, it } from 'vitest';
import { failedTestMark, findEmulationFailure, findFailedTest, judge, mayRepeat } from './verdict.ts';

const emulationFailure = 'Node.js crashed.';
const failedTest = 'test/kvm/machine.test.ts > the jail';

describe('a command that ended', () => {
  it.each([
    ['passed', 0, undefined, { kind: 'ended', code: 0 }],
    ['passed although a process crashed', 0, emulationFailure, { kind: 'ended', code: 0 }],
    ['failed tests', 1, undefined, { kind: 'ended', code: 1 }],
    ['failed while Node.js crashed', 1, emulationFailure, { kind: 'inconclusive' }],
    ['was killed by SIGSEGV', 139, undefined, { kind: 'inconclusive' }],
    ['was killed by SIGKILL, for example because memory ran out', 137, undefined, { kind: 'ended', code: 137 }],
  ])('and %s', (_, code, failure, verdict) => {
    expect(judge({ kind: 'exited', code }, { emulationFailure: failure }, 'inconclusive')).toMatchObject(verdict);
  });
});

describe('a command that ran out of time', () => {
  it.each([
    ['is inconclusive if its caller says so', {}, 'inconclusive', { kind: 'inconclusive' }],
    ['has failed if its caller says so', {}, 'failed', { kind: 'ended', code: 1 }],
    ['has failed if a test had', { failedTest }, 'inconclusive', { kind: 'ended', code: 1 }],
    ['has failed if a test had, also after a crash', { failedTest, emulationFailure }, 'inconclusive', { code: 1 }],
  ] as const)('%s', (_, seen, outOfTime, verdict) => {
    expect(judge({ kind: 'out of time' }, seen, outOfTime)).toMatchObject(verdict);
  });

  it('says so, and which test had failed', () => {
    expect(judge({ kind: 'out of time' }, {}, 'inconclusive').reason).toContain('did not finish in time');
    expect(judge({ kind: 'out of time' }, { failedTest }, 'inconclusive').reason).toContain(failedTest);
  });
});

it('a machine that ends by itself has failed', () => {
  const verdict = judge({ kind: 'machine failed', reason: 'no such disk' }, {}, 'inconclusive');
  expect(verdict).toMatchObject({ kind: 'ended', code: 1, reason: expect.stringContaining('no such disk') });
});

it.each([
  ['early', 1, 580_000, true],
  ['when most of the time is over', 1, 300_000, false],
  ['a second time', 2, 600_000, false],
])('an attempt that was inconclusive %s', (_, attempt, leftMs, isRepeated) => {
  expect(mayRepeat({ attempt, leftMs, limitMs: 600_000 })).toBe(isRepeated);
});

it.each([
  ['# Fatal error in , line 0', 'Node.js crashed in the outer machine (# Fatal error in , line 0).'],
  [
    "! Machines are emulated, which is many times slower: /dev/kvm exists but the guests' kernel does not run on it ([    7.3] HugeTLB). Use a host",
    "The guests' kernel does not run on the emulated KVM ([    7.3] HugeTLB).",
  ],
  ['✗ KVM tests FAILED', undefined],
  ['#', undefined],
  ['× a check failed', undefined],
])('the line %j', (line, failure) => {
  expect(findEmulationFailure(line)).toBe(failure);
});

it.each([
  [`${failedTestMark}${failedTest}\r`, failedTest],
  [`the test prints ${failedTestMark}`, undefined],
  [' ✓ test/kvm/machine.test.ts (12 tests) 44000ms', undefined],
])('the line %j about a test', (line, name) => {
  expect(findFailedTest(line)).toBe(name);
});
