import { type ClientHttp2Session, connect } from 'node:http2';
import { GuestUnreachable } from '../core/ports/guest-agent.ts';
import type { AgentChannel } from '../core/ports/machine-driver.ts';
import { guestLimits } from './limits.ts';

/** One HTTP/2 session over a synchronised channel; it ends as a whole, with a reason, and takes the channel with it. */
export class Connection {
  readonly session: ClientHttp2Session;
  /** Settles when the connection is gone; never rejects. */
  readonly closed: Promise<void>;
  readonly #channel: AgentChannel;
  #endReason: GuestUnreachable | undefined;

  constructor(channel: AgentChannel) {
    this.#channel = channel;
    const { control, data } = channel;
    const session = connect('http://agent', {
      createConnection: () => data,
      maxHeaderListPairs: guestLimits.headerPairs,
      maxSessionMemory: guestLimits.sessionMemoryMb,
      maxReservedRemoteStreams: 0,
      settings: {
        enablePush: false,
        initialWindowSize: guestLimits.streamWindowBytes,
        maxHeaderListSize: guestLimits.headerListBytes,
      },
    });
    this.session = session;
    this.closed = new Promise((resolve) => {
      session.once('close', resolve);
      data.once('close', resolve);
    });
    session.on('error', (cause) => this.end('the agent connection failed', cause));
    session.on('goaway', () => this.end('the agent said goodbye'));
    session.on('close', () => this.end('the agent connection closed'));
    session.on('frameError', () => this.end('a frame could not be sent to the agent'));
    session.once('connect', () => {
      // Garbage may have destroyed the session before it reports that it is connected.
      if (!session.destroyed) session.setLocalWindowSize(guestLimits.connectionWindowBytes);
    });
    data.once('close', () => this.end('the data port closed'));
    data.once('end', () => this.end('the data port ended'));
    control.once('close', () => this.end('the control port closed'));
    control.once('end', () => this.end('the control port ended'));
  }

  /** Why it ended, for the calls that were lost with it. */
  get endReason(): GuestUnreachable | undefined {
    return this.#endReason;
  }

  /** Ends everything at once; the first reason stays. */
  end(reason: string, cause?: unknown): void {
    if (this.#endReason !== undefined) return;
    this.#endReason = new GuestUnreachable(reason, cause === undefined ? undefined : { cause });
    this.session.destroy();
    // Node waits for the peer to read before it lets the socket go; a guest may never read.
    this.#channel.close();
    this.#channel.data.destroy();
    this.#channel.control.destroy();
  }
}
