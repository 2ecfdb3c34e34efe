import { type ClientHttp2Session, connect } from 'node:http2';
import { GuestUnreachable } from '../../core/ports/guest-agent.ts';
import type { AgentChannel } from '../../core/ports/machine-driver.ts';
import { guestLimits } from '../guest-limits.ts';
import type { FrameRelay } from './frame-relay.ts';
import { TurnBudget } from './turn-budget.ts';

/** An HTTP/2 session over a synchronised channel. It ends as a whole, with one reason, and closes the channel. */
export class Connection {
  readonly session: ClientHttp2Session;
  /** Resolves when the connection is gone; never rejects. */
  readonly closed: Promise<void>;
  /** Shared by all answers of this connection. */
  readonly turn = new TurnBudget(guestLimits.turnMs);
  readonly #channel: AgentChannel;
  readonly #relay: FrameRelay;
  #interimResponses = 0;
  #endReason: GuestUnreachable | undefined;

  constructor(channel: AgentChannel, relay: FrameRelay) {
    this.#channel = channel;
    this.#relay = relay;
    const { control, data } = channel;
    const session = connect('http://agent', {
      createConnection: () => relay.socket,
      maxHeaderListPairs: guestLimits.headerPairs,
      maxSessionMemory: guestLimits.sessionMemoryMb,
      maxReservedRemoteStreams: 0,
      settings: {
        enablePush: false,
        initialWindowSize: guestLimits.streamWindowBytes,
        maxFrameSize: guestLimits.http2FrameBytes,
        maxHeaderListSize: guestLimits.headerListBytes,
      },
    });
    this.session = session;
    this.closed = new Promise((resolve) => {
      session.once('close', resolve);
      relay.socket.once('close', resolve);
    });
    session.on('error', (cause) => this.end('the connection to the agent failed', cause));
    session.on('goaway', () => this.end('the agent closed the HTTP/2 session'));
    session.on('close', () => this.end('the connection to the agent was closed'));
    session.on('frameError', () => this.end('a frame could not be sent to the agent'));
    session.once('connect', () => {
      // Garbage from the guest may destroy the session before this event.
      if (!session.destroyed) session.setLocalWindowSize(guestLimits.connectionWindowBytes);
    });
    data.once('close', () => {
      // After a proper end, the session ends when it has handled the last bytes.
      if (!data.readableEnded) this.end('the data port was closed');
    });
    relay.socket.once('end', () => this.end('the data port ended'));
    relay.socket.once('close', () => this.end('the data port was closed'));
    control.once('close', () => this.end('the control port was closed'));
    control.once('end', () => this.end('the control port ended'));
    relay.start(data, (violation) => this.end('the agent sent an HTTP/2 frame that is not accepted', violation));
  }

  /** Why the connection ended, for the calls that were lost with it. */
  get endReason(): GuestUnreachable | undefined {
    return this.#endReason;
  }

  /** Counts an interim response, which an agent has no reason to send, and ends the connection at the limit: each costs as much as a small call. */
  countInterim(): void {
    this.#interimResponses += 1;
    if (this.#interimResponses > guestLimits.unexpectedFrames) this.end('the agent sent too many interim responses');
  }

  /** Ends everything at once. Only the first reason is kept. */
  end(reason: string, cause?: unknown): void {
    if (this.#endReason !== undefined) return;
    this.#endReason = new GuestUnreachable(reason, cause === undefined ? undefined : { cause });
    this.session.destroy();
    this.#relay.close();
    // Node releases the socket only after the peer has read everything, and a guest may never read.
    this.#channel.close();
    this.#channel.data.destroy();
    this.#channel.control.destroy();
  }
}

/** Pings the agent while calls of unknown duration are in progress. Ends the connection if an answer does not arrive in time. */
export class Liveness {
  readonly #connection: Connection;
  readonly #intervalMs: number;
  readonly #answerMs: number;
  #calls = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(connection: Connection, intervalMs: number, answerMs: number) {
    this.#connection = connection;
    this.#intervalMs = intervalMs;
    this.#answerMs = answerMs;
  }

  /** Pings until the call settles, and returns its outcome. */
  async during<T>(call: Promise<T>): Promise<T> {
    this.#calls += 1;
    if (this.#calls === 1) this.#schedule();
    try {
      return await call;
    } finally {
      this.#calls -= 1;
      if (this.#calls === 0) clearTimeout(this.#timer);
    }
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#calls === 0 || this.#connection.session.destroyed) return;
    this.#timer = setTimeout(() => this.#ping(), this.#intervalMs);
  }

  #ping(): void {
    const { session } = this.#connection;
    if (session.destroyed) return;
    this.#timer = setTimeout(
      () => this.#connection.end(`the agent did not answer a ping within ${this.#answerMs} ms`),
      this.#answerMs,
    );
    session.ping(() => this.#schedule());
  }
}
