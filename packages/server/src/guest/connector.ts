import {
  type GuestAgent,
  type GuestConnector,
  type GuestIdentity,
  GuestUnreachable,
} from '../core/ports/guest-agent.ts';
import type { AgentChannel, Machine } from '../core/ports/machine-driver.ts';
import { Http2GuestAgent } from './agent.ts';
import type { WallClock } from './clock.ts';
import { Connection } from './connection.ts';
import { drainControl } from './drain-control.ts';
import { defaultDeadlines, type GuestDeadlines } from './limits.ts';
import { NoAnswer } from './no-answer.ts';
import { synchronise } from './synchronise.ts';

export interface GuestConnectorOptions {
  readonly deadlines?: Partial<GuestDeadlines>;
  /** The host's time in unix milliseconds. */
  readonly now?: WallClock;
}

/** How much longer than its marker a first answer may take in one try. */
const firstAnswerFactor = 5;

/** A connector that attaches as docs/agent-protocol.md says and answers only with agents that have said hello. */
export function createGuestConnector(options: GuestConnectorOptions = {}): GuestConnector {
  const deadlines: GuestDeadlines = Object.freeze({ ...defaultDeadlines, ...options.deadlines });
  const now = options.now ?? Date.now;

  const attachOver = async (
    channel: AgentChannel,
    syncMs: number,
    deadlineMs: number,
    identity?: GuestIdentity,
  ): Promise<GuestAgent> => {
    const startedMs = performance.now();
    // An error of either stream shows as its end; without a listener it would end the process.
    channel.control.on('error', () => {});
    channel.data.on('error', () => {});
    // Nothing it says there matters.
    drainControl(channel.control);
    let connection: Connection | undefined;
    try {
      await synchronise(channel, syncMs, deadlines.attachRepeatMs);
      connection = new Connection(channel);
      const agent = new Http2GuestAgent(connection, deadlines, now);
      const leftMs = Math.max(1, deadlineMs - (performance.now() - startedMs));
      await (identity ? agent.setIdentity(identity, leftMs) : agent.hello(leftMs));
      return agent;
    } catch (cause) {
      connection?.end('the attach failed', cause);
      channel.close();
      channel.data.destroy();
      channel.control.destroy();
      if (cause instanceof GuestUnreachable) throw cause;
      throw new GuestUnreachable('the agent refused the attach', { cause });
    }
  };

  const attachChannel = (channel: AgentChannel, deadlineMs: number): Promise<GuestAgent> =>
    attachOver(channel, deadlineMs, deadlineMs);

  const attach: GuestConnector['attach'] = async (machine, deadlineMs, identity) => {
    const startedMs = performance.now();
    const leftMs = () => Math.max(1, deadlineMs - (performance.now() - startedMs));
    for (let syncMs = deadlines.firstSyncMs; ; syncMs *= 2) {
      const channel = await openChannel(machine, leftMs());
      try {
        return await attachOver(
          channel,
          Math.min(syncMs, leftMs()),
          Math.min(firstAnswerFactor * syncMs, leftMs()),
          identity,
        );
      } catch (error) {
        // QEMU forgets to unthrottle a port whose host died in mid-write; only the next disconnect makes it good.
        if (!(error instanceof NoAnswer) || leftMs() <= 1) throw error;
      }
    }
  };

  return { attach, attachChannel };
}

/** Opens the channel within the deadline; one that comes too late is closed. */
async function openChannel(machine: Pick<Machine, 'openAgentChannel'>, deadlineMs: number): Promise<AgentChannel> {
  const giveUp = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new GuestUnreachable(`the agent channel did not open within ${deadlineMs} ms`));
      giveUp.abort();
    }, deadlineMs);
  });
  const opening = machine.openAgentChannel(giveUp.signal);
  try {
    return await Promise.race([opening, late]);
  } catch (cause) {
    opening.then(
      (channel) => channel.close(),
      () => {},
    );
    if (cause instanceof GuestUnreachable) throw cause;
    throw new GuestUnreachable('the agent channel did not open', { cause });
  } finally {
    clearTimeout(timer);
  }
}
