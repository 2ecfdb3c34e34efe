import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RecordedLog } from '../../../test/recorded-log.ts';
import { pacedLog } from './paced-log.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('each event has so many lines in a second, and the next line counts what was left out', () => {
  const log = new RecordedLog();
  const paced = pacedLog(log, 2);
  for (let at = 0; at < 5; at += 1) paced.error({ at }, 'call_failed');
  paced.info({}, 'service_connected');
  vi.advanceTimersByTime(1_001);
  for (let at = 5; at < 7; at += 1) paced.error({ at }, 'call_failed');
  expect(log.lines.map(({ event, fields }) => [event, fields])).toEqual([
    ['call_failed', { at: 0 }],
    ['call_failed', { at: 1 }],
    ['service_connected', {}],
    ['call_failed', { at: 5, suppressed: 3 }],
    ['call_failed', { at: 6 }],
  ]);
});
