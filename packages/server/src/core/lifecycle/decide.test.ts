import { sandboxStatuses } from '@mayfly/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decide, expiryOf, type LifecycleEvent, type LifecycleState } from './decide.ts';

const events: readonly LifecycleEvent[] = [
  { kind: 'machine_ready' },
  { kind: 'provisioning_failed', reason: 'r' },
  { kind: 'delete_requested' },
  { kind: 'expiry_passed' },
  { kind: 'service_stopping' },
  { kind: 'service_restarted' },
  { kind: 'machine_died', reason: 'r' },
  { kind: 'machine_gone' },
];
const nowMs = 1_000_000;
const state = (status: LifecycleState['status']): LifecycleState => ({
  status,
  createdAtMs: nowMs - 1000,
  timeoutMinutes: 15,
  expiresAtMs: nowMs,
});

test('every status and every event', () => {
  const table = sandboxStatuses.map((status) => [
    status,
    Object.fromEntries(events.map((event) => [event.kind, decide(state(status), event, nowMs)?.status ?? '-'])),
  ]);
  const unmoved = Object.fromEntries(events.map((event) => [event.kind, '-']));
  expect(Object.fromEntries(table)).toEqual({
    provisioning: {
      ...unmoved,
      machine_ready: 'running',
      provisioning_failed: 'failed',
      delete_requested: 'deleting',
      service_stopping: 'deleting',
      service_restarted: 'failed',
    },
    running: {
      ...unmoved,
      delete_requested: 'deleting',
      expiry_passed: 'deleting',
      service_stopping: 'deleting',
      service_restarted: 'failed',
      machine_died: 'failed',
    },
    deleting: { ...unmoved, provisioning_failed: 'deleted', service_restarted: 'deleted', machine_gone: 'deleted' },
    deleted: unmoved,
    failed: { ...unmoved, delete_requested: 'deleted' },
  });
});

test('whatever happens in whatever order, it never comes back to running and never ends without a reason', () => {
  const anything = fc.array(fc.constantFrom(...events), { maxLength: 12 });
  const holds = (happened: readonly LifecycleEvent[]): boolean => {
    let current = { ...state('provisioning'), statusReason: null as string | null, deletedAtMs: 0 };
    let left = false;
    for (const event of happened) {
      const change = decide(current, event, nowMs);
      if (change === undefined) continue;
      left ||= current.status === 'running';
      current = { ...current, ...change, statusReason: change.statusReason ?? current.statusReason };
      const running = current.status === 'running';
      if (running ? left : current.statusReason === null) return false;
      if (current.status === 'deleted' && current.deletedAtMs !== nowMs) return false;
    }
    return true;
  };
  expect(() => fc.assert(fc.property(anything, holds))).not.toThrow();
});

test('it does not expire before its time', () => {
  expect(decide({ ...state('running'), expiresAtMs: nowMs + 1 }, { kind: 'expiry_passed' }, nowMs)).toBeUndefined();
});

test('its lifetime counts from when it is ready, up to 1440 minutes after its creation', () => {
  expect(expiryOf({ createdAtMs: 0, timeoutMinutes: 15 }, 30_000)).toBe(30_000 + 15 * 60_000);
  expect(expiryOf({ createdAtMs: 0, timeoutMinutes: 1440 }, 30_000)).toBe(1440 * 60_000);
});
