import { once } from 'node:events';
import { WebSocket } from 'ws';

const keptBytes = 16_384;

/** A client of a terminal, which collects what it is sent. */
export class TestTerminal {
  readonly webSocket: WebSocket;
  /** The text messages. */
  readonly told: Record<string, unknown>[] = [];
  /** The last that was printed. */
  printed = Buffer.alloc(0);
  printedBytes = 0;
  closed: { readonly code: number; readonly reason: string } | undefined;
  readonly #waiting = new Set<() => void>();

  constructor(webSocket: WebSocket) {
    this.webSocket = webSocket;
    webSocket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) this.#print(data);
      else this.told.push(JSON.parse(data.toString()) as Record<string, unknown>);
      this.#look();
    });
    webSocket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() };
      this.#look();
    });
    webSocket.on('error', () => {});
  }

  /** The id of the terminal. */
  get session(): string {
    return String(this.told[0]?.session);
  }

  get text(): string {
    return this.printed.toString();
  }

  type(bytes: string | Uint8Array): void {
    this.webSocket.send(Buffer.from(bytes));
  }

  send(message: object): void {
    this.webSocket.send(JSON.stringify(message));
  }

  /** Waits until this holds. */
  async until(holds: (terminal: this) => boolean, deadlineMs = 300_000): Promise<void> {
    if (holds(this)) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = () => {
      if (holds(this)) resolve();
      else if (this.closed !== undefined) reject(new Error(`the terminal was closed: ${this.#state()}`));
    };
    const timer = setTimeout(() => reject(new Error(`it did not happen: ${this.#state()}`)), deadlineMs);
    this.#waiting.add(look);
    look();
    await promise.finally(() => {
      clearTimeout(timer);
      this.#waiting.delete(look);
    });
  }

  async untilClosed(deadlineMs?: number): Promise<{ readonly code: number; readonly reason: string }> {
    await this.until(({ closed }) => closed !== undefined, deadlineMs);
    return this.closed ?? { code: 0, reason: '' };
  }

  /** Leaves the terminal, which goes on. */
  async leave(): Promise<void> {
    this.webSocket.close();
    await this.untilClosed();
  }

  #print(data: Buffer): void {
    this.printedBytes += data.length;
    this.printed = Buffer.concat([this.printed, data]).subarray(-keptBytes);
  }

  #look(): void {
    for (const look of this.#waiting) look();
  }

  #state(): string {
    const { told, closed, printed } = this;
    return JSON.stringify({ told, closed, printed: printed.subarray(-2_000).toString() });
  }
}

/** A refusal instead of a WebSocket. */
export interface RefusedUpgrade {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: { readonly error: { readonly type: string; readonly message: string } };
}

/** Opens a terminal. Throws if it is refused. `onOpen` is called before anything has arrived. */
export async function openTerminal(
  url: string,
  headers: Record<string, string>,
  onOpen: (terminal: TestTerminal) => void = () => {},
): Promise<TestTerminal> {
  const opened = await tryTerminal(url, headers, onOpen);
  if (!(opened instanceof TestTerminal)) throw new Error(`${url}: ${JSON.stringify(opened)}`);
  await opened.until(({ told }) => told.length > 0);
  return opened;
}

/** Opens a terminal, or says how it was refused. */
export async function tryTerminal(
  url: string,
  headers: Record<string, string> = {},
  onOpen: (terminal: TestTerminal) => void = () => {},
): Promise<TestTerminal | RefusedUpgrade> {
  const webSocket = new WebSocket(url.replace(/^http/, 'ws'), { headers, perMessageDeflate: false });
  const terminal = new TestTerminal(webSocket);
  onOpen(terminal);
  const refused = Promise.withResolvers<RefusedUpgrade>();
  webSocket.on('unexpected-response', (_request, response) => {
    const pieces: Buffer[] = [];
    response.on('data', (piece: Buffer) => pieces.push(piece));
    response.on('end', () => {
      const body = JSON.parse(Buffer.concat(pieces).toString()) as RefusedUpgrade['body'];
      refused.resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
    });
  });
  return await Promise.race([once(webSocket, 'open').then(() => terminal), refused.promise]);
}
