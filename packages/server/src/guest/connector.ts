import {
  type GuestAgent,
  type GuestConnector,
  type GuestIdentity,
  GuestUnreachable,
} from '../core/ports/guest-agent.ts';
import type { AgentChannel, Machine } from '../core/ports/machine-driver.ts';
import { withDeadline } from '../core/scheduling/deadline.ts';
import { Connection } from './attach/connection.ts';
import { watchControlPort } from './attach/control-port.ts';
import { FrameRelay } from './attach/frame-relay.ts';
import { createNonce, synchronise } from './attach/synchronise.ts';
import { Http2GuestAgent } from './calls/agent.ts';
import type { WallClock } from './calls/clock.ts';
import { NoAnswer, SessionEnded } from './guest-errors.ts';
import { defaultDeadlines, type GuestDeadlines } from './guest-limits.ts';

export interface GuestConnectorOptions {
  readonly deadlines?: Partial<GuestDeadlines>;
  /** The host's time in unix milliseconds. */
  readonly now?: WallClock;
}

/** How much longer than synchronising an attempt may take until the first answer. */
const firstAnswerFactor = 5;

/** How many sessions an agent may end before its first answer. */
const maxEndedSessions = 3;

/** Attaches as docs/agent-protocol.md describes. Resolves only with agents that have answered a first call. */
export function createGuestConnector(options: GuestConnectorOptions = {}): GuestConnector {
  const deadlines: GuestDeadlines = Object.freeze({ ...defaultDeadlines, ...options.deadlines });
  const now = options.now ?? Date.now;

  const attachOver = async (
    channel: AgentChannel,
    syncMs: number,
    deadlineMs: number,
    identity?: GuestIdentity,
  ): Promise<GuestAgent> => {
    const leftMs = countdown(deadlineMs);
    const nonce = createNonce();
    // An error of either stream also closes it; without a listener it would end the process.
    channel.control.on('error', () => {});
    channel.data.on('error', () => {});
    const sessionOver = watchControlPort(channel.control, nonce);
    let relay: FrameRelay | undefined;
    let connection: Connection | undefined;
    let overReason: string | undefined;
    try {
      relay = await FrameRelay.open();
      await synchronise(channel, nonce, syncMs, deadlines.attachRepeatMs);
      const opened = new Connection(channel, relay);
      connection = opened;
      void sessionOver.then((reason) => {
        overReason = reason;
        opened.end(reason);
      });
      const agent = new Http2GuestAgent(opened, deadlines, now);
      await (identity ? agent.setIdentity(identity, leftMs()) : agent.hello(leftMs()));
      return agent;
    } catch (cause) {
      connection?.end('the attach failed', cause);
      relay?.close();
      channel.close();
      channel.data.destroy();
      channel.control.destroy();
      if (overReason !== undefined) throw new SessionEnded(overReason, { cause });
      if (cause instanceof GuestUnreachable) throw cause;
      throw new GuestUnreachable('the agent refused the attach', { cause });
    }
  };

  return {
    attach: async (machine, deadlineMs, identity) => {
      const leftMs = countdown(deadlineMs);
      let endedSessions = 0;
      for (let syncMs = deadlines.firstSyncMs; ; syncMs *= 2) {
        const channel = await openChannel(machine, leftMs());
        const attemptMs = Math.min(firstAnswerFactor * syncMs, leftMs());
        try {
          return await attachOver(channel, Math.min(syncMs, leftMs()), attemptMs, identity);
        } catch (error) {
          if (error instanceof SessionEnded) endedSessions += 1;
          // QEMU may leave a port throttled after the service died in the middle of a write. Reconnecting clears that.
          else if (!(error instanceof NoAnswer)) throw error;
          if (endedSessions === maxEndedSessions || leftMs() <= 1) throw error;
        }
      }
    },
  };
}

/** Opens the channel within the deadline. A channel that opens later is closed. */
async function openChannel(machine: Pick<Machine, 'openAgentChannel'>, deadlineMs: number): Promise<AgentChannel> {
  const cancel = new AbortController();
  try {
    const opening = machine.openAgentChannel(cancel.signal);
    return await withDeadline('opening the agent channel', deadlineMs, opening, {
      onLate: (channel) => channel.close(),
    });
  } catch (cause) {
    cancel.abort();
    if (cause instanceof GuestUnreachable) throw cause;
    throw new GuestUnreachable('the agent channel did not open', { cause });
  }
}

/** Returns a function that gives the time left until the deadline, at least 1 ms. */
function countdown(deadlineMs: number): () => number {
  const startedMs = performance.now();
  return () => Math.max(1, deadlineMs - (performance.now() - startedMs));
}
