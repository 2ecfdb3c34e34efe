import { expect, it } from 'vitest';
import { isCrashLine, judgeExit } from './run.ts';

const crash = '# Check failed: x.';

it.each([
  ['passed', 0, undefined, 'ended'],
  ['passed although a process crashed', 0, crash, 'ended'],
  ['failed tests', 1, undefined, 'ended'],
  ['failed while Node.js crashed', 1, crash, 'crashed'],
  ['was killed by SIGSEGV', 139, undefined, 'crashed'],
  ['was killed by SIGKILL, for example because memory ran out', 137, undefined, 'ended'],
])('a run that %s', (_, code, crashLine, kind) => {
  expect(judgeExit(code, crashLine)).toMatchObject({ kind });
});

it('recognizes the lines in which V8 reports its own crash', () => {
  expect(['# Fatal error in , line 0', '# Check failed: it->second.Size() > offset.'].map(isCrashLine)).toEqual([
    true,
    true,
  ]);
  expect(['✗ KVM tests FAILED', '#', '× a check failed'].map(isCrashLine)).toEqual([false, false, false]);
});
