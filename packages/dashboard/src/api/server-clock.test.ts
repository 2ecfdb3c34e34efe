import { afterEach, expect, test } from 'vitest';
import { noteServerDate, serverNowMs } from './server-clock.ts';

const nowMs = Date.parse('2026-01-02T03:04:05.600Z');

afterEach(() => noteServerDate(new Date(nowMs).toUTCString(), nowMs));

test('a clock that is wrong by an hour is corrected', () => {
  noteServerDate('Fri, 02 Jan 2026 04:04:05 GMT', nowMs);
  expect(new Date(serverNowMs(nowMs)).toISOString()).toBe('2026-01-02T04:04:05.000Z');
});

test('the rounding of the header changes nothing', () => {
  noteServerDate('Fri, 02 Jan 2026 03:04:05 GMT', nowMs);
  expect(serverNowMs(nowMs)).toBe(nowMs);
});

test.each([null, '', 'yesterday'])('the header %j changes nothing', (header) => {
  noteServerDate(header, nowMs);
  expect(serverNowMs(nowMs)).toBe(nowMs);
});
