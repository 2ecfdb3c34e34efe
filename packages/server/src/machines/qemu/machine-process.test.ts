import { expect, it } from 'vitest';
import { exitReason } from './machine-process.ts';

it.each([
  [{ code: 0, signal: null }, 'guest-shutdown', 'the guest powered itself off'],
  [{ code: 0, signal: null }, 'guest-reset', 'the guest restarted: a reboot or a kernel panic'],
  [{ code: null, signal: 'SIGKILL' as const }, undefined, 'qemu was killed by SIGKILL'],
  [{ code: 1, signal: null }, undefined, 'qemu ended with code 1'],
])('explains %o with shutdown reason %s', (end, shutdown, reason) => {
  expect(exitReason(end, shutdown)).toBe(reason);
});
