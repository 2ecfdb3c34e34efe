import { setTimeout as delay } from 'node:timers/promises';
import { openStatuses } from '../ports/store/sandbox-store.ts';
import { destroyAllSandboxes, type StopNeeds } from './end.ts';

/** What became of all sandboxes. */
export interface Destruction {
  /** The sandboxes that have ended. */
  readonly destroyed: number;
  /** The ids of those that have not. */
  readonly left: readonly string[];
  /** Machines that could not be destroyed, those without a sandbox included. */
  readonly machinesLeft: number;
}

export interface DestructionPace {
  readonly deadlineMs: number;
  readonly pauseMs: number;
}

/** Destroys every sandbox, and tries again what failed until nothing is left or the time is over: a host process that ended comes back meanwhile. */
export async function destroyUntilGone(
  core: StopNeeds,
  { deadlineMs, pauseMs }: DestructionPace,
): Promise<Destruction> {
  const giveUpAtMs = performance.now() + deadlineMs;
  const before = await core.store.sandboxes.withStatus(openStatuses);
  for (;;) {
    await destroyAllSandboxes(core);
    const left = (await core.store.sandboxes.withStatus(openStatuses)).map(({ id }) => id);
    const machinesLeft = core.teardowns.waiting;
    if (left.length + machinesLeft === 0 || performance.now() > giveUpAtMs) {
      return { destroyed: before.filter(({ id }) => !left.includes(id)).length, left, machinesLeft };
    }
    await delay(pauseMs);
  }
}
