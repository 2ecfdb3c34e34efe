import { costMicroUsd } from '../money/balance.ts';
import type { Charge, SandboxChange, SandboxRecord } from '../ports/store/sandbox-store.ts';

/** The events in the life of a sandbox. */
export type LifecycleEvent =
  /** `copiedAtMs` is the instant of the copy if it was not known when the sandbox was stored. */
  | { readonly kind: 'machine_ready'; readonly machineId: string; readonly copiedAtMs?: number }
  | { readonly kind: 'provisioning_failed'; readonly reason: string }
  | { readonly kind: 'delete_requested'; readonly byOperator?: boolean }
  | { readonly kind: 'expiry_passed' }
  | { readonly kind: 'extend_requested'; readonly additionalMinutes: number; readonly maxTimeoutMinutes: number }
  | { readonly kind: 'service_stopping' }
  /** The new run of the service found no machine of it; the earlier run was last known to be alive at `lastAliveMs`. */
  | { readonly kind: 'service_restarted'; readonly lastAliveMs: number }
  /** `machineId` is the machine that died; any when absent. A machine that serves the sandbox no longer changes nothing. */
  | { readonly kind: 'machine_died'; readonly reason: string; readonly machineId?: string }
  /** Another machine serves the sandbox from now on. */
  | { readonly kind: 'machine_replaced'; readonly machineId: string }
  /** The host runs out of memory or disk, and this sandbox has to make room. */
  | { readonly kind: 'evicted'; readonly reason: string }
  /** Its machine was destroyed and nothing of it is left on the host. */
  | { readonly kind: 'machine_gone' };

/** The part of a sandbox that decisions depend on. */
export type LifecycleState = Pick<
  SandboxRecord,
  'status' | 'machineId' | 'createdAtMs' | 'readyAtMs' | 'expiresAtMs' | 'timeoutMinutes' | 'priceMicroUsdPerHour'
>;

export interface LifecycleRules {
  /** The longest life of a sandbox, counted from its creation. */
  readonly maxTimeoutMinutes: number;
}

/** When a sandbox that became ready at `readyAtMs` expires: after its timeout, but never past the cap counted from its creation. */
export function expiryOf(
  state: Pick<LifecycleState, 'createdAtMs' | 'timeoutMinutes'>,
  readyAtMs: number,
  { maxTimeoutMinutes }: LifecycleRules,
): number {
  const capMs = state.createdAtMs + maxTimeoutMinutes * 60_000;
  return Math.min(readyAtMs + state.timeoutMinutes * 60_000, capMs);
}

/** What an event changes in a sandbox; undefined if it changes nothing. Pure. */
export function decide(
  state: LifecycleState,
  event: LifecycleEvent,
  nowMs: number,
  rules: LifecycleRules,
): SandboxChange | undefined {
  switch (state.status) {
    case 'provisioning':
      return decideProvisioning(state, event, nowMs, rules);
    case 'running':
      return decideRunning(state, event, nowMs, rules);
    case 'deleting':
      return decideDeleting(event, nowMs);
    case 'failed':
      return event.kind === 'delete_requested' ? { status: 'deleted', deletedAtMs: nowMs } : undefined;
    case 'deleted':
      return undefined;
  }
}

function decideProvisioning(
  state: LifecycleState,
  event: LifecycleEvent,
  nowMs: number,
  rules: LifecycleRules,
): SandboxChange | undefined {
  /** It never ran, and its idempotency key is free for another create. */
  const end = (status: 'failed' | 'deleting', statusReason: string): SandboxChange => ({
    status,
    statusReason,
    endedAtMs: nowMs,
    idempotencyKey: null,
  });
  switch (event.kind) {
    case 'machine_ready':
      return {
        status: 'running',
        machineId: event.machineId,
        readyAtMs: nowMs,
        expiresAtMs: expiryOf(state, nowMs, rules),
        ...(event.copiedAtMs !== undefined && { originAtMs: event.copiedAtMs }),
      };
    case 'provisioning_failed':
      return end('failed', `provisioning_failed: ${event.reason}`);
    case 'service_restarted':
      return end('failed', 'provisioning_failed: the service was restarted');
    case 'delete_requested':
      return end('deleting', deleteReason(event));
    case 'service_stopping':
      return end('deleting', 'service_stopped');
    case 'expiry_passed':
    case 'extend_requested':
    case 'machine_died':
    case 'machine_replaced':
    case 'evicted':
    case 'machine_gone':
      return undefined;
  }
}

const expired = { status: 'deleting', statusReason: 'expired' } as const;

function decideRunning(
  state: LifecycleState,
  event: LifecycleEvent,
  nowMs: number,
  rules: LifecycleRules,
): SandboxChange | undefined {
  const end = (change: Pick<SandboxChange, 'status' | 'statusReason'>, atMs = nowMs): SandboxChange => ({
    ...change,
    endedAtMs: endOfRun(state, atMs),
    charge: chargeOf(state, atMs),
  });
  const hasExpired = state.expiresAtMs !== null && nowMs >= state.expiresAtMs;
  /** A sandbox past its expiry has expired, whatever became of its machine meanwhile. */
  const fail = (statusReason: string, atMs = nowMs): SandboxChange =>
    end(hasExpired ? expired : { status: 'failed', statusReason }, atMs);
  switch (event.kind) {
    case 'delete_requested':
      return end({ status: 'deleting', statusReason: deleteReason(event) });
    case 'service_stopping':
      return end({ status: 'deleting', statusReason: 'service_stopped' });
    case 'expiry_passed':
      return hasExpired ? end(expired) : undefined;
    case 'machine_died':
      return event.machineId === undefined || event.machineId === state.machineId
        ? fail(`machine_died: ${event.reason}`)
        : undefined;
    case 'machine_replaced':
      return { status: 'running', machineId: event.machineId };
    case 'evicted':
      return end({ status: 'failed', statusReason: `evicted: ${event.reason}` });
    case 'service_restarted':
      // When the machine died is unknown: nothing is charged past the last time the service was known to be alive.
      return fail(
        'machine_died: the service was restarted',
        Math.min(nowMs, Math.max(event.lastAliveMs, state.readyAtMs ?? nowMs)),
      );
    case 'extend_requested':
      return extended(state, event, rules);
    // The create did not learn that `running` was written and reported a failure, so the sandbox is not charged.
    case 'provisioning_failed':
      return {
        status: 'failed',
        statusReason: `provisioning_failed: ${event.reason}`,
        endedAtMs: endOfRun(state, nowMs),
        idempotencyKey: null,
      };
    case 'machine_ready':
    case 'machine_gone':
      return undefined;
  }
}

function deleteReason({ byOperator = false }: Extract<LifecycleEvent, { kind: 'delete_requested' }>): string {
  return byOperator ? 'deleted_by_operator' : 'deleted';
}

/** When a run ended that was found to be over at `atMs`: not past its expiry, because the sweep may be late, and not before it was ready. */
function endOfRun({ readyAtMs, expiresAtMs }: LifecycleState, atMs: number): number {
  return Math.max(Math.min(atMs, expiresAtMs ?? atMs), readyAtMs ?? 0);
}

/** The cost from ready until the end of the run, entered at `atMs`. */
function chargeOf(state: LifecycleState, atMs: number): Charge {
  const endedAtMs = endOfRun(state, atMs);
  const runtimeMs = endedAtMs - (state.readyAtMs ?? endedAtMs);
  return { amountMicroUsd: costMicroUsd(runtimeMs, state.priceMicroUsdPerHour), runtimeMs, atMs };
}

function extended(
  state: LifecycleState,
  { additionalMinutes, maxTimeoutMinutes }: Extract<LifecycleEvent, { kind: 'extend_requested' }>,
  rules: LifecycleRules,
): SandboxChange | undefined {
  const most = Math.max(Math.min(maxTimeoutMinutes, rules.maxTimeoutMinutes), state.timeoutMinutes);
  const timeoutMinutes = Math.min(state.timeoutMinutes + additionalMinutes, most);
  const expiresAtMs = expiryOf({ ...state, timeoutMinutes }, state.readyAtMs ?? state.createdAtMs, rules);
  return timeoutMinutes === state.timeoutMinutes ? undefined : { status: 'running', timeoutMinutes, expiresAtMs };
}

function decideDeleting(event: LifecycleEvent, nowMs: number): SandboxChange | undefined {
  switch (event.kind) {
    case 'machine_gone':
    case 'provisioning_failed':
    case 'service_restarted':
      return { status: 'deleted', deletedAtMs: nowMs };
    case 'machine_ready':
    case 'delete_requested':
    case 'expiry_passed':
    case 'extend_requested':
    case 'service_stopping':
    case 'machine_died':
    case 'machine_replaced':
    case 'evicted':
      return undefined;
  }
}
