import { fixedLimits } from '@mayfly/contract';
import type { WebSocket } from 'ws';
import { z } from 'zod';
import type { OpenStream } from '../../core/executions/live/open-streams.ts';
import type { TerminalSize } from '../../core/ports/screens.ts';
import type { TerminalClient, TerminalEnd } from '../../core/terminals/audience.ts';
import type { TerminalSession } from '../../core/terminals/session.ts';

/** With so much unsent, a client is sent nothing more until most of it is gone. */
export const behindBytes = 1024 ** 2;
const behindMessages = 1_000;
const caughtUpBytes = 256 * 1024;
/** With so much typed that the shell has not taken, no more is read from the client. */
const typedAheadBytes = 64 * 1024;
/** What a message that is not typed counts as. */
const controlBytes = 64;
/** How often a silent connection is pinged, which keeps proxies from closing it. */
export const pingMs = 15_000;
/** A client that did not react for this long is gone. */
export const silenceMs = 60_000;
/** How long a client may take to close the connection after it was asked to. */
const closeDelayMs = 5_000;
/** The longest reason in a close frame. */
const maxReasonBytes = 123;
/** Resets a terminal: its screen, scrollback, modes and colours. */
const resetTerminal = Buffer.from('\x1bc');

const closeCode = { normal: 1000, goingAway: 1001, serviceRestart: 1012 } as const;

const controlMessage = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('resize'),
    cols: z.int().min(1).max(fixedLimits.terminalCols),
    rows: z.int().min(1).max(fixedLimits.terminalRows),
  }),
  z.object({ type: z.literal('close') }),
]);

const controlHelp = `Send what is typed as a binary message. A text message is {"type":"resize","cols":1-${fixedLimits.terminalCols},"rows":1-${fixedLimits.terminalRows}} or {"type":"close"}.`;

/** Shows a terminal over a WebSocket until either side ends it. */
export function serveTerminal(webSocket: WebSocket, session: TerminalSession, stream: OpenStream): void {
  const client = new TerminalSocket(webSocket, session);
  const leave = session.join(client);
  const pings = setInterval(() => client.ping(), pingMs);
  const cut = () => client.close(closeCode.serviceRestart, 'the service is stopping: connect again');
  stream.signal.addEventListener('abort', cut, { once: true });
  if (stream.signal.aborted) cut();
  webSocket.on('message', (data, isBinary) => client.receive(data as Buffer, isBinary));
  webSocket.on('pong', () => client.heard());
  webSocket.on('ping', (data) => client.answerPing(data));
  // The connection is closed by itself then.
  webSocket.on('error', () => {});
  webSocket.once('close', () => {
    clearInterval(pings);
    leave();
    stream.signal.removeEventListener('abort', cut);
    stream[Symbol.dispose]();
  });
}

class TerminalSocket implements TerminalClient {
  readonly #webSocket: WebSocket;
  readonly #session: TerminalSession;
  #isReady = false;
  #wasBehind = false;
  /** Messages that are not sent yet. Small ones cost far more memory than they have bytes. */
  #unsent = 0;
  #isAnsweringPing = false;
  #typing: Promise<void> = Promise.resolve();
  #typedBytes = 0;
  #heardAtMs = performance.now();
  #isHangingUp = false;

  constructor(webSocket: WebSocket, session: TerminalSession) {
    this.#webSocket = webSocket;
    this.#session = session;
  }

  get isBehind(): boolean {
    this.#wasBehind ||= this.#webSocket.bufferedAmount > behindBytes || this.#unsent > behindMessages;
    return this.#wasBehind;
  }

  show(size: TerminalSize, screen: Uint8Array): void {
    if (this.#isReady) this.resized(size);
    else this.#tell({ type: 'ready', session: this.#session.id, ...size });
    if (this.#isReady || screen.length > 0) this.print(Buffer.concat([resetTerminal, screen]));
    this.#isReady = true;
  }

  print(bytes: Uint8Array): void {
    this.#unsent += 1;
    this.#webSocket.send(bytes, { binary: true }, () => this.#sent());
  }

  resized({ cols, rows }: TerminalSize): void {
    this.#tell({ type: 'resize', cols, rows });
  }

  ended(end: TerminalEnd): void {
    if (end.kind === 'gone') {
      this.close(closeCode.goingAway, end.reason);
      return;
    }
    this.#tell({ type: 'exit', exit_code: end.exitCode });
    this.close(closeCode.normal, '');
  }

  receive(data: Buffer, isBinary: boolean): void {
    this.heard();
    if (isBinary) {
      this.#inTurn(Math.max(data.length, controlBytes), () => this.#session.type(data));
      return;
    }
    const message = readControl(data);
    if (message === undefined) this.#refuse();
    else if (message.type === 'close') this.#hangUp();
    else this.#inTurn(controlBytes, () => this.#session.resize({ cols: message.cols, rows: message.rows }));
  }

  heard(): void {
    this.#heardAtMs = performance.now();
  }

  ping(): void {
    // A client that is not read cannot be heard.
    if (this.#webSocket.isPaused) this.heard();
    if (performance.now() - this.#heardAtMs > silenceMs) this.#webSocket.terminate();
    else this.#webSocket.ping();
  }

  /** Answers a ping, unless the answer to an earlier one is still to be sent: an answer to the latest is enough. */
  answerPing(data: Buffer): void {
    this.heard();
    if (this.#isAnsweringPing) return;
    this.#isAnsweringPing = true;
    this.#webSocket.pong(data, false, () => {
      this.#isAnsweringPing = false;
    });
  }

  /** Says that a message was not understood. Disconnects a client that causes such answers and does not read them. */
  #refuse(): void {
    if (this.isBehind) this.#webSocket.terminate();
    else this.#tell({ type: 'error', message: controlHelp });
  }

  #hangUp(): void {
    if (this.#isHangingUp) return;
    this.#isHangingUp = true;
    void this.#session.hangUp().finally(() => {
      this.#isHangingUp = false;
    });
  }

  close(code: number, reason: string): void {
    this.#webSocket.close(
      code,
      Buffer.from(reason)
        .subarray(0, maxReasonBytes)
        .toString()
        .replace(/\uFFFD+$/, ''),
    );
    setTimeout(() => this.#webSocket.terminate(), closeDelayMs).unref();
  }

  /** Does what a client wants in the order of its messages, and stops reading from it while too much is waiting. */
  #inTurn(bytes: number, act: () => Promise<void>): void {
    this.#typedBytes += bytes;
    if (this.#typedBytes > typedAheadBytes) this.#webSocket.pause();
    this.#typing = this.#typing.then(act).then(() => {
      this.#typedBytes -= bytes;
      if (this.#webSocket.isPaused && this.#typedBytes <= typedAheadBytes) this.#webSocket.resume();
    });
  }

  #tell(message: object): void {
    this.#unsent += 1;
    this.#webSocket.send(JSON.stringify(message), () => this.#sent());
  }

  #sent(): void {
    this.#unsent -= 1;
    if (!this.#wasBehind || this.#webSocket.bufferedAmount > caughtUpBytes || this.#unsent > 0) return;
    this.#wasBehind = false;
    this.#session.caughtUp(this);
  }
}

function readControl(data: Buffer): z.infer<typeof controlMessage> | undefined {
  try {
    return controlMessage.safeParse(JSON.parse(data.toString())).data;
  } catch {
    return undefined;
  }
}
