import type { SandboxStatus } from '@mayfly/contract';
import type { Core } from '../context.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
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
  core: Pick<Core, 'store' | 'clock' | 'limits' | 'previewTraffic'>,
  sandbox: SandboxRecord,
  event: LifecycleEvent,
): Promise<Advance> {
  let current = sandbox;
  // A sandbox moves towards its end or its expiry moves to its cap, so this meets only so many other writers.
  for (;;) {
    const change = decide(current, event, core.clock.nowMs(), core.limits);
    if (change === undefined) return { sandbox: current, before: current.status, changed: false };
    const written = await core.store.sandboxes.change(current, change);
    if (written !== undefined) {
      if (written.status !== 'running') core.previewTraffic.cut(written.id);
      return { sandbox: written, before: current.status, changed: true };
    }
    const kept = await core.store.sandboxes.read(current.id);
    if (kept === undefined) return { sandbox: current, before: current.status, changed: false };
    current = kept;
  }
}
