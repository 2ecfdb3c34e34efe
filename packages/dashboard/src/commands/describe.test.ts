import { expect, test } from 'vitest';
import { describeResult, formatLength, lengthMs } from './describe.ts';

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_000, '1.0 s'],
  [59_999, '59.9 s'],
  [60_000, '1 min'],
])('%d ms are %s', (ms, text) => {
  expect(formatLength(ms)).toBe(text);
});

const ended = { status: 'completed', exit_code: 0, oom_killed: false } as const;

test.each([
  [ended, 'Exit 0', 'good'],
  [{ ...ended, exit_code: 2 }, 'Exit 2', 'bad'],
  [{ ...ended, exit_code: 143 }, 'Exit 143 (TERM)', 'bad'],
  [{ ...ended, exit_code: 255 }, 'Exit 255', 'bad'],
  [{ ...ended, exit_code: 137, oom_killed: true }, 'Out of memory', 'bad'],
  [{ ...ended, status: 'timeout', exit_code: 124 }, 'Timed out', 'bad'],
  [{ ...ended, status: 'failed', exit_code: null }, 'Failed', 'bad'],
  [{ ...ended, status: 'running', exit_code: null }, 'Running', 'running'],
] as const)('%j is %s', (execution, text, kind) => {
  expect(describeResult(execution)).toEqual({ text, kind });
});

test('a running command gets longer, one whose result was lost has no length', () => {
  const startMs = Date.parse('2026-01-02T03:00:00.000Z');
  const running = { duration_ms: null, started_at: '2026-01-02T03:00:00.000Z', status: 'running' } as const;
  expect(lengthMs(running, startMs + 5_000)).toBe(5_000);
  expect(lengthMs({ ...running, status: 'failed' }, startMs + 5_000)).toBeUndefined();
  expect(lengthMs({ ...running, duration_ms: 42 }, startMs + 5_000)).toBe(42);
});
