import { afterAnswer, afterClose, type Closed, type Next, reconnectDelayMs, type Told } from './reconnect.ts';

export interface Size {
  readonly cols: number;
  readonly rows: number;
}

/** What the person sees of the connection. */
export type ConnectionState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'open' }
  /** `atMs` is when it is tried again, on this machine's clock; undefined while it is. */
  | { readonly kind: 'lost'; readonly atMs: number | undefined }
  | { readonly kind: 'ended'; readonly exitCode: number | undefined }
  | { readonly kind: 'gone'; readonly reason: string };

export interface ConnectionOptions {
  /** Of the sandbox, below the API's prefix. */
  readonly path: string;
  /** The terminal to join; undefined starts one. */
  readonly session: string | undefined;
  readonly size: () => Size;
  /** Which terminals are running. */
  readonly ask: () => Promise<Told>;
  readonly onSession: (session: string) => void;
  readonly onState: (state: ConnectionState) => void;
  readonly onSize: (size: Size) => void;
  /** Calls `done` once the bytes are shown. */
  readonly onOutput: (bytes: Uint8Array, done: () => void) => void;
}

type ServiceMessage =
  | ({ readonly type: 'ready'; readonly session: string } & Size)
  | ({ readonly type: 'resize' } & Size)
  | { readonly type: 'exit'; readonly exit_code: number }
  | { readonly type: 'error'; readonly message: string };

/** One message of what is typed. The service accepts four times as much. */
const messageBytes = 64 * 1024;
/** With so much printed that is not shown yet, the connection is given up: joining again shows only the latest screen. */
const maxUnshownBytes = 8 * 1024 ** 2;
const encoder = new TextEncoder();

/** A terminal over a WebSocket, joined again whenever the connection is lost, until the shell exits. */
export class TerminalConnection {
  readonly #options: ConnectionOptions;
  #session: string | undefined;
  #socket: WebSocket | undefined;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #state: ConnectionState = { kind: 'connecting' };
  #isClosed = false;
  #unshownBytes = 0;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#session = options.session;
    window.addEventListener('online', this.#tryNow);
    document.addEventListener('visibilitychange', this.#tryNow);
    this.#connect();
  }

  type(text: string): void {
    this.typeBytes(encoder.encode(text));
  }

  typeBytes(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#state.kind !== 'open') return;
    for (let start = 0; start < bytes.length; start += messageBytes) {
      this.#socket?.send(bytes.slice(start, start + messageBytes));
    }
  }

  resize({ cols, rows }: Size): void {
    this.#tell({ type: 'resize', cols, rows });
  }

  /** Ends the shell, for everybody who looks at it. Returns whether it could be said. */
  hangUp(): boolean {
    return this.#tell({ type: 'close' });
  }

  tryNow(): void {
    if (this.#state.kind !== 'lost' || this.#state.atMs === undefined) return;
    clearTimeout(this.#timer);
    this.#connect();
  }

  /** Leaves the terminal, which goes on. */
  detach(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    window.removeEventListener('online', this.#tryNow);
    document.removeEventListener('visibilitychange', this.#tryNow);
    this.#socket?.close(1000);
  }

  readonly #tryNow = () => {
    if (!document.hidden) this.tryNow();
  };

  #change(state: ConnectionState): void {
    this.#state = state;
    this.#options.onState(state);
  }

  #tell(message: object): boolean {
    if (this.#state.kind !== 'open') return false;
    this.#socket?.send(JSON.stringify(message));
    return true;
  }

  #connect(): void {
    if (this.#state.kind === 'lost') this.#change({ kind: 'lost', atMs: undefined });
    const { cols, rows } = this.#options.size();
    const url = new URL(`/app/api${this.#options.path}/pty`, location.href.replace(/^http/, 'ws'));
    url.searchParams.set('cols', `${cols}`);
    url.searchParams.set('rows', `${rows}`);
    if (this.#session !== undefined) url.searchParams.set('session', this.#session);
    const socket = new WebSocket(url);
    socket.binaryType = 'arraybuffer';
    this.#socket = socket;
    let wasReady = false;
    let exitCode: number | undefined;
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) => {
      if (typeof data !== 'string') {
        this.#print(socket, new Uint8Array(data));
        return;
      }
      const message = JSON.parse(data) as ServiceMessage;
      if (message.type === 'ready') {
        wasReady = true;
        this.#ready(message.session);
      }
      if (message.type === 'ready' || message.type === 'resize') this.#options.onSize(message);
      if (message.type === 'exit') exitCode = message.exit_code;
    };
    socket.onclose = ({ code, reason }) => {
      if (this.#isClosed || this.#socket !== socket) return;
      void this.#closed({ code, reason, exitCode, wasReady });
    };
  }

  #ready(session: string): void {
    this.#failures = 0;
    if (this.#session !== session) this.#options.onSession(session);
    this.#session = session;
    this.#change({ kind: 'open' });
  }

  #print(socket: WebSocket, bytes: Uint8Array): void {
    this.#unshownBytes += bytes.length;
    this.#options.onOutput(bytes, () => {
      this.#unshownBytes -= bytes.length;
    });
    if (this.#unshownBytes > maxUnshownBytes) socket.close(1000);
  }

  async #closed(closed: Closed): Promise<void> {
    let next: Next = afterClose(closed);
    if (next.kind === 'ask') {
      const told = await this.#options.ask();
      if (this.#isClosed) return;
      next = afterAnswer(told, { session: this.#session, failures: this.#failures });
    }
    if (next.kind === 'ended' || next.kind === 'gone') this.#change(next);
    else this.#retry();
  }

  #retry(): void {
    const delayMs = reconnectDelayMs(this.#failures);
    this.#failures += 1;
    this.#change({ kind: 'lost', atMs: Date.now() + delayMs });
    this.#timer = setTimeout(() => this.#connect(), delayMs);
  }
}
