import { type GuestAgent, type GuestConnector, GuestUnreachable } from '../core/ports/guest-agent.ts';
import type { AgentChannel, Machine } from '../core/ports/machine-driver.ts';
import { Http2GuestAgent } from './agent.ts';
import type { WallClock } from './clock.ts';
import { Connection } from './connection.ts';
import { defaultDeadlines, type GuestDeadlines } from './limits.ts';
import { synchronise } from './synchronise.ts';

export interface GuestConnectorOptions {
  readonly deadlines?: Partial<GuestDeadlines>;
  /** The host's time in unix milliseconds. */
  readonly now?: WallClock;
}

/** A connector that attaches as docs/agent-protocol.md says and answers only with agents that have said hello. */
export function createGuestConnector(options: GuestConnectorOptions = {}): GuestConnector {
  const deadlines: GuestDeadlines = Object.freeze({ ...defaultDeadlines, ...options.deadlines });
  const now = options.now ?? Date.now;

  const attachChannel = async (channel: AgentChannel, deadlineMs: number): Promise<GuestAgent> => {
    const startedMs = performance.now();
    // An error of either stream shows as its end; without a listener it would end the process.
    channel.control.on('error', () => {});
    channel.data.on('error', () => {});
    let connection: Connection | undefined;
    try {
      await synchronise(channel, deadlineMs, deadlines.attachRepeatMs);
      connection = new Connection(channel);
      const agent = new Http2GuestAgent(connection, deadlines, now);
      await agent.hello(Math.max(1, deadlineMs - (performance.now() - startedMs)));
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

  const attach = async (machine: Pick<Machine, 'id' | 'openAgentChannel'>, deadlineMs: number): Promise<GuestAgent> => {
    const startedMs = performance.now();
    const channel = await openChannel(machine, deadlineMs);
    return attachChannel(channel, Math.max(1, deadlineMs - (performance.now() - startedMs)));
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
