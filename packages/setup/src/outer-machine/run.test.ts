import { expect, it } from 'vitest';
import { isCrashLine, judgeResult } from './run.ts';

it.each([
  ['passed', 0, undefined, 'ended'],
  ['passed although a process crashed that a test ended', 0, '# Check failed: x.', 'ended'],
  ['failed tests', 1, undefined, 'ended'],
  ['failed while Node.js crashed', 1, '# Check failed: x.', 'crashed'],
  ['was killed by SIGSEGV', 139, undefined, 'crashed'],
])('a run that %s', (_, code, crashLine, kind) => {
  expect(judgeResult({ kind: 'exited', code }, crashLine)).toMatchObject({ kind });
});

it('a machine that failed or was too slow says nothing about the suites', () => {
  expect(judgeResult({ kind: 'machine failed', reason: 'QEMU ended with exit code 1' }, undefined)).toEqual({
    kind: 'crashed',
    reason: 'The outer machine ended without a result: QEMU ended with exit code 1.',
  });
  expect(judgeResult({ kind: 'out of time' }, undefined)).toMatchObject({ kind: 'out of time' });
});

it('recognizes the lines in which V8 reports its own crash', () => {
  expect(['# Fatal error in , line 0', '# Check failed: it->second.Size() > offset.'].map(isCrashLine)).toEqual([
    true,
    true,
  ]);
  expect(['✗ KVM tests FAILED', '#', '× a check failed'].map(isCrashLine)).toEqual([false, false, false]);
});
