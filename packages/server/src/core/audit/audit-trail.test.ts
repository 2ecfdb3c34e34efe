import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { AuditEvent } from '../ports/store/audit-store.ts';
import { AuditTrail } from './audit-trail.ts';

const event = {
  actor: { kind: 'api_key', keyId: 'key_1', sourceAddress: '198.51.100.1' },
  accountId: 'acct_1',
  action: 'createSandbox',
  target: null,
  details: null,
  requestId: 'req_1',
} as const;
const ok = { status: 201, errorType: null };

let written: AuditEvent[];
let isDown: boolean;
let lines: string[];
let batches: number;
let trail: AuditTrail;
beforeEach(() => {
  vi.useFakeTimers();
  written = [];
  lines = [];
  batches = 0;
  isDown = false;
  let count = 0;
  const audit = {
    append: async (events: readonly AuditEvent[]) => {
      if (isDown) throw new Error('down');
      batches += 1;
      written.push(...events);
    },
    finish: async () => {},
    list: async () => [],
  };
  const log = pino({ messageKey: 'event' }, { write: (line) => void lines.push(line) });
  const ids = { next: () => `aud_${++count}` };
  trail = new AuditTrail({ store: { audit }, clock: { nowMs: () => 7 }, ids, log });
});
afterEach(() => vi.useRealTimers());

test('the calls of a quarter of a second are written together, without anybody asking', async () => {
  for (let index = 0; index < 30; index++) trail.note(event, ok);
  expect(written).toEqual([]);
  await vi.advanceTimersByTimeAsync(250);
  expect([written.length, batches]).toEqual([30, 1]);
  expect(written[0]).toEqual({ ...event, id: 'aud_1', atMs: 7, result: ok });
});

test('a stop writes what is waiting', async () => {
  trail.note(event, ok);
  await trail[Symbol.asyncDispose]();
  expect(written).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});

test('a call that ends after the stop is logged and keeps nothing running', async () => {
  await trail[Symbol.asyncDispose]();
  isDown = true;
  trail.note(event, ok);
  expect(vi.getTimerCount()).toBe(0);
  expect(lines.join('')).toContain('"event":"audit_events_lost"');
});

test('events wait for a database that is down, up to a limit; what is dropped beyond it is counted in the log', async () => {
  isDown = true;
  for (let index = 0; index < 10_007; index++) trail.note(event, ok);
  await vi.advanceTimersByTimeAsync(10_000);
  isDown = false;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(written).toHaveLength(10_000);
  expect(new Set(written.map(({ id }) => id)).size).toBe(10_000);
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ event: 'audit_events_lost', events: 7 });
});

test('a target and details of any length are cut', async () => {
  trail.note({ ...event, target: 'x'.repeat(50_000), details: 'x'.repeat(50_000) }, ok);
  await trail.flush();
  expect(written[0]?.target).toHaveLength(100);
  expect(written[0]?.details).toHaveLength(1_000);
});
