import { setTimeout as wait } from 'node:timers/promises';
import type { LiveMachine } from '../machines/live-machine.ts';
import { publicReason } from '../machines/public-reason.ts';
import { GuestRefusal, GuestUnreachable, type TerminalChannel, type TerminalPart } from '../ports/guest-agent.ts';
import type { Log } from '../ports/runtime.ts';
import type { Screen, TerminalSize } from '../ports/screens.ts';
import { Audience, type TerminalClient, type TerminalEnd } from './audience.ts';

/** The pause before the agent is asked again after its connection was lost. */
const reconnectPauseMs = 250;

export interface SessionOptions {
  readonly id: string;
  readonly live: LiveMachine;
  readonly size: TerminalSize;
  readonly screen: Screen;
  readonly log: Log;
  /** Whether it has just been started, and has printed nothing. */
  readonly isNew: boolean;
  /** Called when the terminal has ended. */
  readonly onEnd: () => void;
  /** Called when the last client has left. */
  readonly onIdle: () => void;
}

/**
 * One terminal of a sandbox and everybody who looks at it. While somebody does, it reads all output, so that no client holds the shell, and keeps the
 * screen for clients that come later. Without clients the terminal goes on in the machine, which keeps its latest output.
 */
export class TerminalSession {
  readonly id: string;
  readonly #live: LiveMachine;
  readonly #screen: Screen;
  readonly #audience: Audience;
  readonly #log: Log;
  readonly #onEnd: () => void;
  readonly #onIdle: () => void;
  readonly #ended = Promise.withResolvers<void>();
  #connecting: Promise<TerminalChannel> | undefined;
  /** How much output was read. */
  #position = 0;
  /** Output up to here was printed before the connection was made; unknown until the agent has said it. */
  #caughtUpAt: number;
  #end: TerminalEnd | undefined;

  constructor({ id, live, size, screen, log, isNew, onEnd, onIdle }: SessionOptions) {
    this.id = id;
    this.#caughtUpAt = isNew ? 0 : Infinity;
    this.#live = live;
    this.#screen = screen;
    this.#audience = new Audience(screen, size);
    this.#log = log;
    this.#onEnd = onEnd;
    this.#onIdle = onIdle;
    live.whileAlive(this.#ended.promise).catch((error: unknown) => this.#finish(gone(error)));
  }

  get hasClients(): boolean {
    return this.#audience.size > 0;
  }

  /** Connects to the terminal unless it is connected. Throws GuestRefusal `not_found` if it has ended, and GuestUnreachable. */
  async connect(opened?: TerminalChannel): Promise<void> {
    try {
      await (this.#connecting ?? this.#open(opened));
    } catch (error) {
      if (error instanceof GuestRefusal) this.#finish(hasEnded);
      throw error;
    }
  }

  /** Adds a client, which is shown the screen first. Returns what removes it. */
  join(client: TerminalClient): () => void {
    if (this.#end !== undefined) {
      client.ended(this.#end);
      return () => {};
    }
    // Everything that was printed belongs to the screen. A terminal that has just started has printed nothing.
    const isComplete = this.#position >= this.#caughtUpAt;
    this.#audience.add(client, isComplete, isComplete && this.#position === 0);
    return () => {
      this.#audience.remove(client);
      this.release();
    };
  }

  /** Types into the terminal. Resolves once more may be typed: the shell may not read. What is typed while the connection is lost waits for the next one. */
  async type(bytes: Uint8Array): Promise<void> {
    const channel = await this.#channel();
    // What was under way when the connection was lost may be lost with it.
    await channel?.type(bytes).catch(() => {});
  }

  async resize(size: TerminalSize): Promise<void> {
    (await this.#channel())?.resize(size);
  }

  /** Hangs up. Its clients are told how the shell ended. */
  async hangUp(): Promise<void> {
    try {
      const agent = await this.#live.agent();
      await this.#live.whileAlive(agent.endTerminal(this.id));
    } catch {
      // The clients see that the terminal goes on, or that its machine is gone.
    }
  }

  /** A client that was too far behind to be sent more has caught up. */
  caughtUp(client: TerminalClient): void {
    this.#audience.caughtUp(client);
  }

  /** Forgets the terminal, which goes on in the machine. */
  forget(): void {
    this.#finish({ kind: 'gone', reason: 'the terminal was not used for too long' });
  }

  /** The connection, or the next one. Undefined if the terminal has ended or nobody looks at it any more. */
  async #channel(): Promise<TerminalChannel | undefined> {
    while (this.#end === undefined && this.hasClients) {
      const channel = await this.#connecting?.catch(() => undefined);
      if (channel !== undefined) return channel;
      await wait(reconnectPauseMs);
    }
    return undefined;
  }

  #open(opened?: TerminalChannel): Promise<TerminalChannel> {
    if (opened === undefined) this.#caughtUpAt = Infinity;
    const connecting = opened === undefined ? this.#view() : Promise.resolve(opened);
    this.#connecting = connecting;
    connecting.then(
      (channel) => void this.#read(channel),
      () => {
        if (this.#connecting === connecting) this.#connecting = undefined;
      },
    );
    return connecting;
  }

  async #view(): Promise<TerminalChannel> {
    const agent = await this.#live.agent();
    return await this.#live.whileAlive(agent.viewTerminal(this.id, this.#position));
  }

  /** Reads until the terminal ends or nobody looks at it any more. */
  async #read(channel: TerminalChannel): Promise<void> {
    try {
      for await (const part of channel) {
        if (part.kind === 'exit') {
          this.#finish(part);
          return;
        }
        this.#handle(part);
      }
    } catch (error) {
      if (!(error instanceof GuestUnreachable)) {
        this.#log.warn({ terminal_id: this.id, err: error }, 'terminal_failed');
        this.#finish({ kind: 'gone', reason: 'the terminal failed' });
      }
    }
    this.#connecting = undefined;
    if (this.hasClients && this.#end === undefined) await this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    for (;;) {
      await wait(reconnectPauseMs);
      if (!this.hasClients || this.#end !== undefined || this.#connecting !== undefined) return;
      try {
        await this.connect();
      } catch {
        // It is tried again, unless the terminal has ended.
      }
    }
  }

  #handle(part: Exclude<TerminalPart, { kind: 'exit' }>): void {
    switch (part.kind) {
      case 'position':
        // Output that is not kept any more is missing: what follows does not continue this screen.
        if (part.position !== this.#position) this.#audience.restart();
        this.#position = part.position;
        this.#caughtUpAt = Math.max(part.end, part.position);
        if (this.#caughtUpAt === this.#position) this.#audience.showAll();
        return;
      case 'size':
        this.#audience.resize(part.size);
        return;
      case 'output': {
        const wasBehind = this.#position < this.#caughtUpAt;
        this.#position += part.bytes.length;
        this.#audience.print(part.bytes);
        if (wasBehind && this.#position >= this.#caughtUpAt) this.#audience.showAll();
        return;
      }
    }
  }

  /** Disconnects if nobody looks at the terminal. It goes on in the machine. */
  release(): void {
    if (this.hasClients || this.#end !== undefined) return;
    void this.#connecting
      ?.then((channel) => {
        if (!this.hasClients) channel.close();
      })
      .catch(() => {});
    this.#onIdle();
  }

  #finish(end: TerminalEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#ended.resolve();
    void this.#connecting?.then((channel) => channel.close()).catch(() => {});
    void this.#audience.end(end).finally(() => this.#screen[Symbol.dispose]());
    this.#onEnd();
  }
}

const hasEnded: TerminalEnd = { kind: 'gone', reason: 'the terminal has ended' };

function gone(error: unknown): TerminalEnd {
  return { kind: 'gone', reason: publicReason(error, 'the machine is gone') };
}
