import { limits } from '@mayfly/contract';
import type { SandboxChange, SandboxRecord } from '../ports/store.ts';

/** What can happen to a sandbox. */
export type LifecycleEvent =
  | { readonly kind: 'machine_ready' }
  | { readonly kind: 'provisioning_failed'; readonly reason: string }
  | { readonly kind: 'delete_requested' }
  | { readonly kind: 'expiry_passed' }
  | { readonly kind: 'service_stopping' }
  | { readonly kind: 'service_restarted' }
  | { readonly kind: 'machine_died'; readonly reason: string }
  /** Its machine was torn down and nothing of it is left on the host. */
  | { readonly kind: 'machine_gone' };

/** The part of a sandbox that decisions are made from. */
export type LifecycleState = Pick<SandboxRecord, 'status' | 'createdAtMs' | 'timeoutMinutes' | 'expiresAtMs'>;

/** When a sandbox that is ready now ends: its lifetime from now on, but never past the cap after its creation. */
export function expiryOf(state: Pick<LifecycleState, 'createdAtMs' | 'timeoutMinutes'>, readyAtMs: number): number {
  const capMs = state.createdAtMs + limits.maxTimeoutMinutes * 60_000;
  return Math.min(readyAtMs + state.timeoutMinutes * 60_000, capMs);
}

/** What an event does to a sandbox: the change to write, or undefined when everything stays. Pure. */
export function decide(state: LifecycleState, event: LifecycleEvent, nowMs: number): SandboxChange | undefined {
  switch (state.status) {
    case 'provisioning':
      return decideProvisioning(state, event, nowMs);
    case 'running':
      return decideRunning(state, event, nowMs);
    case 'deleting':
      return decideDeleting(event, nowMs);
    case 'failed':
      return event.kind === 'delete_requested' ? { status: 'deleted', deletedAtMs: nowMs } : undefined;
    case 'deleted':
      return undefined;
  }
}

function decideProvisioning(state: LifecycleState, event: LifecycleEvent, nowMs: number): SandboxChange | undefined {
  switch (event.kind) {
    case 'machine_ready':
      return { status: 'running', readyAtMs: nowMs, expiresAtMs: expiryOf(state, nowMs) };
    case 'provisioning_failed':
      return { status: 'failed', statusReason: `provisioning_failed: ${event.reason}`, idempotencyKey: null };
    case 'service_restarted':
      return { status: 'failed', statusReason: 'machine_died: the service was restarted', idempotencyKey: null };
    case 'delete_requested':
      return { status: 'deleting', statusReason: 'deleted', idempotencyKey: null };
    case 'service_stopping':
      return { status: 'deleting', statusReason: 'service_stopped', idempotencyKey: null };
    case 'expiry_passed':
    case 'machine_died':
    case 'machine_gone':
      return undefined;
  }
}

function decideRunning(state: LifecycleState, event: LifecycleEvent, nowMs: number): SandboxChange | undefined {
  switch (event.kind) {
    case 'delete_requested':
      return { status: 'deleting', statusReason: 'deleted' };
    case 'service_stopping':
      return { status: 'deleting', statusReason: 'service_stopped' };
    case 'expiry_passed':
      return state.expiresAtMs !== null && nowMs >= state.expiresAtMs
        ? { status: 'deleting', statusReason: 'expired' }
        : undefined;
    case 'machine_died':
      return { status: 'failed', statusReason: `machine_died: ${event.reason}` };
    case 'service_restarted':
      return { status: 'failed', statusReason: 'machine_died: the service was restarted' };
    case 'machine_ready':
    case 'provisioning_failed':
    case 'machine_gone':
      return undefined;
  }
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
    case 'service_stopping':
    case 'machine_died':
      return undefined;
  }
}
