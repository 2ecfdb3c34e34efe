import type { SandboxStatus } from '@mayfly/contract';
import type { Core } from '../context.ts';
import type { SandboxRecord } from '../ports/store.ts';
import { decide, type LifecycleEvent } from './decide.ts';

export interface Advance {
  /** As it is kept after the event. */
  readonly sandbox: SandboxRecord;
  /** The status that the event met. */
  readonly before: SandboxStatus;
  readonly changed: boolean;
}

/** Lets an event happen to a sandbox: decides from what is kept, writes once, and decides anew if somebody wrote first. */
export async function advance(
  core: Pick<Core, 'store' | 'clock'>,
  sandbox: SandboxRecord,
  event: LifecycleEvent,
): Promise<Advance> {
  let current = sandbox;
  // A sandbox only ever moves towards its end, so this meets at most as many other writers as there are statuses.
  for (;;) {
    const change = decide(current, event, core.clock.nowMs());
    if (change === undefined) return { sandbox: current, before: current.status, changed: false };
    const written = await core.store.sandboxes.change(current.id, current.status, change);
    if (written !== undefined) return { sandbox: written, before: current.status, changed: true };
    const kept = await core.store.sandboxes.read(current.id);
    if (kept === undefined) return { sandbox: current, before: current.status, changed: false };
    current = kept;
  }
}
