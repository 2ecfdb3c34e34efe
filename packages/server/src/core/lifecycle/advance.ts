import type { Limits, SandboxStatus } from '@mayfly/contract';
import type { Metrics } from '../ports/metrics.ts';
import type { Clock } from '../ports/runtime.ts';
import type { SandboxRecord, SandboxStore } from '../ports/store/sandbox-store.ts';
import { decide, type LifecycleEvent } from './decide.ts';

/** What an event in the life of a sandbox needs. */
export interface AdvanceNeeds {
  readonly store: { readonly sandboxes: SandboxStore };
  readonly clock: Clock;
  readonly limits: Limits;
  readonly metrics: Metrics;
  /** Disconnects the visitors of a sandbox that has ended. */
  readonly previewTraffic: { disconnect(sandboxId: string): void };
}

export interface Advance {
  /** The record after the event. */
  readonly sandbox: SandboxRecord;
  /** The status before the event. */
  readonly before: SandboxStatus;
  readonly changed: boolean;
}

/** Applies an event to a sandbox: decides, writes the change once, and decides again if another writer was first. */
export async function advance(core: AdvanceNeeds, sandbox: SandboxRecord, event: LifecycleEvent): Promise<Advance> {
  let current = sandbox;
  // Terminates: every change moves a sandbox closer to its end or its expiry closer to the cap, or replaces its machine, one at a time.
  for (;;) {
    const change = decide(current, event, core.clock.nowMs(), core.limits);
    if (change === undefined) return { sandbox: current, before: current.status, changed: false };
    const written = await core.store.sandboxes.change(current, change);
    if (written !== undefined) {
      if (change.charge !== undefined) core.metrics.charged(change.charge.amountMicroUsd);
      if (written.status !== 'running') core.previewTraffic.disconnect(written.id);
      return { sandbox: written, before: current.status, changed: true };
    }
    const latest = await core.store.sandboxes.read(current.id);
    if (latest === undefined) return { sandbox: current, before: current.status, changed: false };
    current = latest;
  }
}
