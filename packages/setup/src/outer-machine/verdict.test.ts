import { expect, it } from 'vitest';
import { findEmulationFailure, judgeExit } from './run.ts';

const crash = 'Node.js crashed.';

it.each([
  ['passed', 0, undefined, 'ended'],
  ['passed although a process crashed', 0, crash, 'ended'],
  ['failed tests', 1, undefined, 'ended'],
  ['failed while Node.js crashed', 1, crash, 'inconclusive'],
  ['was killed by SIGSEGV', 139, undefined, 'inconclusive'],
  ['was killed by SIGKILL, for example because memory ran out', 137, undefined, 'ended'],
])('a run that %s', (_, code, failure, kind) => {
  expect(judgeExit(code, failure)).toMatchObject({ kind });
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
