import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DetachKeys } from './detach-keys.ts';

let seen = '';
let keys: DetachKeys;
beforeEach(() => {
  vi.useFakeTimers();
  seen = '';
  keys = new DetachKeys({ type: (bytes) => (seen += Buffer.from(bytes)), detach: () => (seen += '<detached>') });
});
afterEach(() => void vi.useRealTimers());

test.each([
  [['ls\r', '\x03'], 'ls\r\x03'],
  [['\x10', '\x11'], '<detached>'],
  [['abc\x10\x11'], 'abc<detached>'],
  [['abc\x10', '\x11'], 'abc<detached>'],
  [['\x10', 'x'], '\x10x'],
  [['\x11'], '\x11'],
  [['\x10', '\x10', '\x11'], '\x10<detached>'],
])('%j is passed on as %j', (typed, expected) => {
  for (const text of typed) keys.push(Buffer.from(text));
  expect(seen).toBe(expected);
});

test('Ctrl-P alone is passed on after a moment', () => {
  keys.push(Buffer.from('\x10'));
  expect(seen).toBe('');
  vi.advanceTimersByTime(1_000);
  expect(seen).toBe('\x10');
  keys.push(Buffer.from('\x11'));
  expect(seen).toBe('\x10\x11');
});
