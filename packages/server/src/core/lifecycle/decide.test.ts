import { sandboxStatuses } from '@mayfly/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import { decide, expiryOf, type LifecycleEvent, type LifecycleState } from './decide.ts';

const nowMs = 1_000_000;

/** Every event: a missing one does not compile. */
const everyEvent: { readonly [Kind in LifecycleEvent['kind']]: Extract<LifecycleEvent, { kind: Kind }> } = {
  machine_ready: { kind: 'machine_ready', machineId: 'm' },
  provisioning_failed: { kind: 'provisioning_failed', reason: 'r' },
  delete_requested: { kind: 'delete_requested' },
  expiry_passed: { kind: 'expiry_passed' },
  extend_requested: { kind: 'extend_requested', additionalMinutes: 5, maxTimeoutMinutes: 1440 },
  service_stopping: { kind: 'service_stopping' },
  service_restarted: { kind: 'service_restarted', lastAliveMs: nowMs },
  machine_died: { kind: 'machine_died', reason: 'r' },
  machine_replaced: { kind: 'machine_replaced', machineId: 'm2' },
  evicted: { kind: 'evicted', reason: 'r' },
  machine_gone: { kind: 'machine_gone' },
};
const events = Object.values(everyEvent);
const rules = { maxTimeoutMinutes: 1440 };
const state = (status: LifecycleState['status']): LifecycleState => ({
  status,
  machineId: 'm',
  createdAtMs: nowMs - 1000,
  readyAtMs: nowMs - 900,
  timeoutMinutes: 15,
  expiresAtMs: nowMs,
  priceMicroUsdPerHour: 3_600_000,
});

test('every status and every event', () => {
  const table = sandboxStatuses.map((status) => [
    status,
    Object.fromEntries(events.map((event) => [event.kind, decide(state(status), event, nowMs, rules)?.status ?? '-'])),
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
      extend_requested: 'running',
      provisioning_failed: 'failed',
      service_stopping: 'deleting',
      // It has expired.
      service_restarted: 'deleting',
      machine_died: 'deleting',
      machine_replaced: 'running',
      evicted: 'failed',
    },
    deleting: { ...unmoved, provisioning_failed: 'deleted', service_restarted: 'deleted', machine_gone: 'deleted' },
    deleted: unmoved,
    failed: { ...unmoved, delete_requested: 'deleted' },
  });
});

test('in any order of events, a sandbox never returns to running and never ends without a reason', () => {
  const anything = fc.array(fc.constantFrom(...events), { maxLength: 12 });
  const holds = (happened: readonly LifecycleEvent[]): boolean => {
    let current = { ...state('provisioning'), statusReason: null as string | null, deletedAtMs: 0 };
    let left = false;
    for (const event of happened) {
      const change = decide(current, event, nowMs, rules);
      if (change === undefined) continue;
      left ||= current.status === 'running' && change.status !== 'running';
      current = { ...current, ...change, statusReason: change.statusReason ?? current.statusReason };
      const running = current.status === 'running';
      if (running ? left : current.statusReason === null) return false;
      if (current.status === 'deleted' && current.deletedAtMs !== nowMs) return false;
    }
    return true;
  };
  expect(() => fc.assert(fc.property(anything, holds))).not.toThrow();
});

test('in any order of events, the end of a sandbox is set when it stops provisioning or running, and never changes', () => {
  const step = fc.record({ event: fc.constantFrom(...events), passesMs: fc.nat(20 * 60_000) });
  const holds = (steps: readonly { readonly event: LifecycleEvent; readonly passesMs: number }[]): boolean => {
    const fresh = { ...state('provisioning'), machineId: null, readyAtMs: null, expiresAtMs: null, endedAtMs: null };
    let current: LifecycleState & Pick<SandboxRecord, 'endedAtMs'> = fresh;
    let atMs = nowMs;
    for (const { event, passesMs } of steps) {
      atMs += passesMs;
      const { endedAtMs: before } = current;
      const change = decide(current, event, atMs, rules);
      current = { ...current, ...change };
      const { status, endedAtMs, readyAtMs, expiresAtMs } = current;
      if ((endedAtMs === null) !== (status === 'provisioning' || status === 'running')) return false;
      if (before !== null && endedAtMs !== before) return false;
      if (endedAtMs !== null && endedAtMs > Math.min(atMs, expiresAtMs ?? atMs)) return false;
      if (change?.charge && change.charge.runtimeMs !== (endedAtMs ?? 0) - (readyAtMs ?? 0)) return false;
    }
    return true;
  };
  expect(() => fc.assert(fc.property(fc.array(step, { maxLength: 12 }), holds))).not.toThrow();
});

test('a run ends at the event, but not past its expiry, and at the last heartbeat if its machine died while no service ran', () => {
  const running = { ...state('running'), expiresAtMs: nowMs + 1_000 };
  const endedAt = (event: LifecycleEvent, atMs: number) => decide(running, event, atMs, rules)?.endedAtMs;
  const { delete_requested, expiry_passed, machine_died, evicted, provisioning_failed, service_stopping } = everyEvent;
  for (const event of [delete_requested, machine_died, evicted, provisioning_failed, service_stopping]) {
    expect([endedAt(event, nowMs), endedAt(event, nowMs + 50_000)]).toEqual([nowMs, nowMs + 1_000]);
  }
  expect(endedAt(expiry_passed, nowMs + 50_000)).toBe(nowMs + 1_000);
  expect(endedAt({ kind: 'service_restarted', lastAliveMs: nowMs - 400 }, nowMs)).toBe(nowMs - 400);
  expect(endedAt({ kind: 'service_restarted', lastAliveMs: nowMs - 400 }, nowMs + 50_000)).toBe(nowMs - 400);
});

test('a create ends when it fails or is cancelled', () => {
  const { provisioning_failed, service_restarted, delete_requested, service_stopping } = everyEvent;
  for (const event of [provisioning_failed, service_restarted, delete_requested, service_stopping]) {
    expect(decide(state('provisioning'), event, nowMs + 5, rules)?.endedAtMs).toBe(nowMs + 5);
  }
});

test('only the death of the machine that serves it ends a sandbox', () => {
  const running = { ...state('running'), expiresAtMs: nowMs + 1 };
  const died = (machineId: string) =>
    decide(running, { kind: 'machine_died', reason: 'r', machineId }, nowMs, rules)?.status;
  expect([died('m'), died('replaced')]).toEqual(['failed', undefined]);
});

test('a sandbox past its expiry has expired, also if its machine died or the service was down meanwhile', () => {
  const died = { kind: 'machine_died', reason: 'r' } as const;
  const restarted = { kind: 'service_restarted', lastAliveMs: nowMs } as const;
  for (const event of [died, restarted]) {
    expect(decide(state('running'), event, nowMs, rules)).toMatchObject({
      status: 'deleting',
      statusReason: 'expired',
    });
    const early = { ...state('running'), expiresAtMs: nowMs + 1 };
    expect(decide(early, event, nowMs, rules)?.status).toBe('failed');
  }
});

test('a sandbox does not expire before its expiry', () => {
  expect(
    decide({ ...state('running'), expiresAtMs: nowMs + 1 }, { kind: 'expiry_passed' }, nowMs, rules),
  ).toBeUndefined();
});

test('the lifetime counts from when the sandbox is ready, up to 1440 minutes after its creation', () => {
  expect(expiryOf({ createdAtMs: 0, timeoutMinutes: 15 }, 30_000, rules)).toBe(30_000 + 15 * 60_000);
  expect(expiryOf({ createdAtMs: 0, timeoutMinutes: 1440 }, 30_000, rules)).toBe(1440 * 60_000);
});

test('a run is charged once, when it ends, for the time since it was ready', () => {
  const charges = events.map((event) => [event.kind, decide(state('running'), event, nowMs, rules)?.charge]);
  const charge = { amountMicroUsd: 900, runtimeMs: 900, atMs: nowMs };
  expect(Object.fromEntries(charges.filter(([, value]) => value !== undefined))).toEqual({
    delete_requested: charge,
    evicted: charge,
    expiry_passed: charge,
    service_stopping: charge,
    service_restarted: charge,
    machine_died: charge,
  });
  for (const status of ['provisioning', 'deleting', 'deleted', 'failed'] as const) {
    for (const event of events) expect(decide(state(status), event, nowMs, rules)?.charge).toBeUndefined();
  }
});

test('a late expiry sweep costs nothing', () => {
  const late = decide(state('running'), { kind: 'expiry_passed' }, nowMs + 50_000, rules);
  expect(late?.charge?.runtimeMs).toBe(900);
});

test('an extension moves the expiry, up to the cap', () => {
  const running = { ...state('running'), createdAtMs: 0, readyAtMs: 1_000, timeoutMinutes: 15 };
  const extend = (additionalMinutes: number, maxTimeoutMinutes = 1440) =>
    decide(running, { kind: 'extend_requested', additionalMinutes, maxTimeoutMinutes }, nowMs, rules);
  expect(extend(30)).toEqual({ status: 'running', timeoutMinutes: 45, expiresAtMs: 1_000 + 45 * 60_000 });
  expect(extend(1440)).toEqual({ status: 'running', timeoutMinutes: 1440, expiresAtMs: 1440 * 60_000 });
  expect(extend(30, 20)).toMatchObject({ timeoutMinutes: 20 });
  expect(extend(30, 10)).toBeUndefined();
});

test('a machine that died while no service ran is charged up to the last heartbeat of the service', () => {
  const restarted = (lastAliveMs: number) =>
    decide(state('running'), { kind: 'service_restarted', lastAliveMs }, nowMs, rules)?.charge;
  expect(restarted(nowMs - 400)).toEqual({ amountMicroUsd: 500, runtimeMs: 500, atMs: nowMs - 400 });
  expect(restarted(nowMs - 5_000)?.runtimeMs).toBe(0);
  expect(restarted(nowMs + 5_000)?.runtimeMs).toBe(900);
});
