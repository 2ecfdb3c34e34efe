import type { Duplex } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import type { Core } from '../context.ts';
import { GuestRefusal } from '../ports/guest-agent.ts';
import { PreviewFailure } from './failure.ts';
import type { PreviewTarget } from './traffic.ts';

/** How long a server that is just starting is waited for. */
const startingMs = 3_000;
const retryMs = 100;

/** A connection to the server behind a preview; one that is just starting is waited for a little. Fails with PreviewFailure. */
export async function connectPreview(
  core: Pick<Core, 'machines'>,
  { sandboxId, port }: PreviewTarget,
  signal: AbortSignal,
): Promise<Duplex> {
  const lastTryMs = performance.now() + startingMs;
  for (;;) {
    try {
      const live = core.machines.get(sandboxId);
      const agent = await live.whileAlive(live.agent());
      return await live.whileAlive(agent.openTunnel(port));
    } catch (cause) {
      if (!(cause instanceof GuestRefusal) || cause.code !== 'refused') {
        throw new PreviewFailure('unreachable', 'The sandbox does not answer.', { cause });
      }
      if (signal.aborted || performance.now() > lastTryMs) {
        throw new PreviewFailure('nothing_listening', `Nothing listens on port ${port} in the sandbox.`);
      }
    }
    // Its owner has gone: the next look at the signal ends this.
    await setTimeout(retryMs, undefined, { signal }).catch(() => {});
  }
}
