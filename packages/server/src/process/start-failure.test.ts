import { afterEach, expect, test, vi } from 'vitest';
import { reportFailedStart, StartFailure } from './start-failure.ts';

const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
afterEach(() => stderr.mockClear());

test.each([
  [
    'a reason for the operator',
    new StartFailure('Port 80 is in use. Stop nginx.'),
    78,
    /^Mayfly cannot start\. Port 80/,
  ],
  [
    'one that may pass',
    new StartFailure('No answer.', { mayPass: true }),
    75,
    /^Mayfly cannot start yet\. No answer\.\n$/,
  ],
  ['an unexpected error', new TypeError('x is undefined'), 1, /unexpected error: TypeError: x is undefined\n +at /],
  ['what is no error', 'text', 1, /unexpected error: text\n$/],
])('%s decides the exit code and what is printed', (_, error, code, line) => {
  expect(reportFailedStart(error)).toBe(code);
  expect(stderr.mock.lastCall?.[0]).toMatch(line);
});
