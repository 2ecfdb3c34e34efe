import { ConnectionError } from '../errors.ts';
import { path, type RequestOptions, timesOf } from '../http/connection.ts';
import { request } from '../http/request.ts';
import { startTimer } from '../http/timer.ts';
import type { SandboxCaller } from '../sandboxes/sandbox-caller.ts';
import { type Closing, openSocket, type Socket } from './web-socket.ts';

export interface TerminalOptions extends RequestOptions {
  /** The width in characters. 80 for a new terminal; one that is running keeps its own. */
  readonly cols?: number | undefined;
  /** The height in lines. 24 for a new terminal; one that is running keeps its own. */
  readonly rows?: number | undefined;
  /** The terminal to join. Without it a new shell is started. */
  readonly session?: string | undefined;
}

/** What the service accepts in one message. */
const messageBytes = 256 * 1024;
/** How much may be printed that nobody has read. */
export const maxUnreadBytes = 8 * 1024 ** 2;
const encoder = new TextEncoder();

type ServiceMessage =
  | { readonly type: 'ready'; readonly session: string; readonly cols: number; readonly rows: number }
  | { readonly type: 'resize'; readonly cols: number; readonly rows: number }
  | { readonly type: 'exit'; readonly exit_code: number }
  | { readonly type: 'error'; readonly message: string };

/**
 * A terminal with a shell. Iterate over it to read what is printed. Leaving the iteration with `break` keeps the connection: iterate again to read
 * on, or call `detach`. The terminal goes on when the connection is lost, or when more than 8 MiB are printed that were not read, which throws a
 * ConnectionError: join it again with its `session`.
 */
export class Terminal implements AsyncIterable<Uint8Array<ArrayBuffer>> {
  /** Identifies the terminal, for others to join it. */
  readonly session: string;
  /** Called when the size changes, also through another client. */
  onResize: ((size: { readonly cols: number; readonly rows: number }) => void) | undefined;
  readonly #socket: Socket;
  readonly #printed: Uint8Array<ArrayBuffer>[] = [];
  #unreadBytes = 0;
  #cols: number;
  #rows: number;
  #exitCode: number | undefined;
  /** Whether `detach` was called. */
  #hasLeft = false;
  /** Whether the service closed the connection in good order. */
  #isClosed = false;
  /** Why nothing more comes. */
  #failure: ConnectionError | undefined;
  /** The iterations that wait for something to happen. */
  #waiting: (() => void)[] = [];

  /** Terminals are made by `sandbox.terminal`. */
  constructor(socket: Socket, ready: Extract<ServiceMessage, { type: 'ready' }>) {
    this.#socket = socket;
    this.session = ready.session;
    this.#cols = ready.cols;
    this.#rows = ready.rows;
    socket.onmessage = ({ data }) => this.#receive(data as ArrayBuffer | string);
    socket.onclose = (event) => {
      if (event.code === 1000) this.#isClosed = true;
      else if (this.#exitCode === undefined) this.#failure ??= lost(event);
      this.#wake();
    };
  }

  get cols(): number {
    return this.#cols;
  }

  get rows(): number {
    return this.#rows;
  }

  /** How the shell exited. Undefined while it runs. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /** What is printed, until the shell exits or `detach` is called. Throws a ConnectionError if the connection is lost. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
    for (;;) {
      if (this.#hasLeft) return;
      const printed = this.#printed.shift();
      if (printed !== undefined) {
        this.#unreadBytes -= printed.length;
        yield printed;
      } else if (this.#failure !== undefined) throw this.#failure;
      else if (this.#exitCode !== undefined || this.#isClosed) return;
      else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Types text or bytes. */
  write(data: string | Uint8Array): void {
    const bytes = typeof data === 'string' ? encoder.encode(data) : data;
    for (let start = 0; start < bytes.length; start += messageBytes) {
      this.#socket.send(bytes.slice(start, start + messageBytes));
    }
  }

  /** Changes the size, for all clients. */
  resize(cols: number, rows: number): void {
    this.#socket.send(JSON.stringify({ type: 'resize', cols, rows }));
  }

  /** Hangs up: ends the shell, for all clients. */
  close(): void {
    this.#socket.send(JSON.stringify({ type: 'close' }));
  }

  /** Disconnects, which ends every iteration at once. The terminal goes on. */
  detach(): void {
    this.#hasLeft = true;
    this.#socket.close(1000);
    this.#wake();
  }

  #receive(data: ArrayBuffer | string): void {
    if (typeof data === 'string') this.#note(JSON.parse(data) as ServiceMessage);
    else this.#keep(new Uint8Array(data));
    this.#wake();
  }

  #keep(printed: Uint8Array<ArrayBuffer>): void {
    this.#printed.push(printed);
    this.#unreadBytes += printed.length;
    if (this.#unreadBytes <= maxUnreadBytes) return;
    const message = `Terminal ${this.session} was read too slowly. Join it again with its session, which shows the screen.`;
    this.#failure = new ConnectionError(message, { mayHaveHappened: true });
    this.#socket.onmessage = null;
    this.#socket.close(1000);
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  #note(message: ServiceMessage): void {
    if (message.type === 'exit') this.#exitCode = message.exit_code;
    if (message.type !== 'resize') return;
    this.#cols = message.cols;
    this.#rows = message.rows;
    this.onResize?.({ cols: message.cols, rows: message.rows });
  }
}

/** Opens a terminal. A ticket takes the place of the key, because browsers send no headers with a WebSocket. */
export async function openTerminal(caller: SandboxCaller, options: TerminalOptions): Promise<Terminal> {
  const { cols, rows, session, ...requestOptions } = options;
  const { connection, id } = caller;
  // The handshake cannot report why it was refused, so whatever would refuse it is asked for first.
  await caller.request({ method: 'GET', path: '', repeatable: true, ...requestOptions });
  const ticketCall = { method: 'POST', path: '/tickets', repeatable: true, ...requestOptions } as const;
  const { ticket } = await request<{ ticket: string }>(connection, ticketCall);
  const url = new URL(connection.baseUrl.replace(/^http/, 'ws') + path`/sandboxes/${id}/pty`);
  for (const [name, value] of Object.entries({ cols, rows, session, ticket })) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return await connect(url, options.signal, timesOf(connection, options).requestTimeoutMs);
}

function connect(url: URL, signal: AbortSignal | undefined, timeoutMs: number): Promise<Terminal> {
  return new Promise((resolve, reject) => {
    const socket = openSocket(url);
    socket.binaryType = 'arraybuffer';
    const fail = (error: unknown) => {
      settle();
      reject(error);
      socket.onclose = null;
      socket.close();
    };
    const abort = () => fail(signal?.reason);
    const timer = startTimer(
      () => fail(new ConnectionError(`The terminal did not open within ${timeoutMs} ms.`, { mayHaveHappened: true })),
      timeoutMs,
    );
    const settle = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    };
    if (signal?.aborted) return abort();
    signal?.addEventListener('abort', abort, { once: true });
    socket.onclose = (event) => fail(lost(event));
    socket.onmessage = ({ data }) => {
      if (typeof data !== 'string') return;
      const message = JSON.parse(data) as ServiceMessage;
      if (message.type !== 'ready') return;
      settle();
      resolve(new Terminal(socket, message));
    };
  });
}

function lost({ code, reason }: Closing): ConnectionError {
  const said = reason === '' ? '' : `: ${reason}`;
  return new ConnectionError(`The connection to the terminal was lost (code ${code}${said}).`, {
    mayHaveHappened: true,
  });
}
