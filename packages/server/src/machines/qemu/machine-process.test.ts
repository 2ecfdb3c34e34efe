import { expect, it } from 'vitest';
import { exitReason, explainingLine } from './machine-process.ts';

it.each([
  [{ code: 0, signal: null }, 'guest-shutdown', 'the guest powered itself off'],
  [{ code: 0, signal: null }, 'guest-reset', 'the guest restarted: a reboot or a kernel panic'],
  [{ code: null, signal: 'SIGKILL' as const }, undefined, 'qemu was killed by SIGKILL'],
  [{ code: 1, signal: null }, undefined, 'qemu ended with code 1'],
])('explains %o with shutdown reason %s', (end, shutdown, reason) => {
  expect(exitReason(end, shutdown)).toBe(reason);
});

it.each([
  ['', ''],
  ['one\nqemu: could not open disk', 'qemu: could not open disk'],
  [
    '[ 9.1] Kernel panic - not syncing: Fatal exception\r\n[ 9.2] CPU: 0\r\n',
    '[ 9.1] Kernel panic - not syncing: Fatal exception',
  ],
  ['the cause\nqemu: warning: Discarding RAM in private file mappings is possibly dangerous', 'the cause'],
])('of a log, the line that explains the end is told: %j', (tail, line) => {
  expect(explainingLine(tail.trim())).toBe(line);
});
