import { MayflyError } from '../api/api-error.ts';
import { encodeBase64 } from '../api/base64.ts';
import { startTimer } from '../http/timer.ts';
import { clientFrame, type Frame, FrameParser, opcodes } from './frames.ts';

/** How a connection ended. */
export interface Closing {
  readonly code: number;
  readonly reason: string;
}

/** The part of a WebSocket that terminals use. */
export interface Socket {
  binaryType: string;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onclose: ((event: Closing) => void) | null;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number): void;
}

interface Runtime {
  readonly WebSocket?: new (url: URL) => Socket;
  readonly Bun?: unknown;
  readonly Deno?: unknown;
  readonly process?: { readonly getBuiltinModule?: (name: string) => unknown };
}

/**
 * Opens a WebSocket: our own on Node.js, the runtime's elsewhere. Only our own sees the pings of the service, and so notices a connection that is
 * dead without having been closed.
 */
export function openSocket(url: URL): Socket {
  const { WebSocket: Native, Bun, Deno, process } = globalThis as Runtime;
  // Bun and Deno have a process too.
  const isNode = Bun === undefined && Deno === undefined && process?.getBuiltinModule !== undefined;
  return isNode || Native === undefined ? new NodeSocket(url) : new Native(url);
}

interface Stream {
  on(event: string, listener: (value: Uint8Array) => void): unknown;
  write(data: Uint8Array): unknown;
  end(): unknown;
  destroy(): unknown;
}

interface Http {
  get(url: URL, options: object): Handshake;
}

interface Handshake {
  on(event: string, listener: (response: unknown, stream: Stream, head: Uint8Array) => void): unknown;
  destroy(): unknown;
}

/** How long the other side is waited for, in milliseconds. */
interface SocketTimes {
  /** Without any frame. The service sends a ping every 15 s. */
  readonly silenceMs: number;
  /** After `close`, for the connection to end. */
  readonly closeMs: number;
}

export const defaultTimes: SocketTimes = { silenceMs: 60_000, closeMs: 3_000 };

const lostCode = 1006;
const decoder = new TextDecoder();

/** A WebSocket over the HTTP client of Node.js. */
export class NodeSocket implements Socket {
  binaryType = 'arraybuffer';
  onmessage: Socket['onmessage'] = null;
  onclose: Socket['onclose'] = null;
  readonly #parser = new FrameParser();
  readonly #times: SocketTimes;
  readonly #handshake: Handshake;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stream: Stream | undefined;
  #closing: Closing | undefined;
  #message: { readonly opcode: number; readonly parts: Uint8Array[] } | undefined;

  constructor(url: URL, times: SocketTimes = defaultTimes) {
    this.#times = times;
    const key = encodeBase64(crypto.getRandomValues(new Uint8Array(16)));
    const httpUrl = new URL(url.href.replace(/^ws/, 'http'));
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': key,
    };
    this.#handshake = nodeHttp(httpUrl.protocol).get(httpUrl, { headers, agent: false });
    this.#handshake.on('upgrade', (_response, stream, head) => this.#open(stream, head));
    this.#handshake.on('response', () => {
      this.#end({ code: lostCode, reason: 'the handshake was refused' });
      this.#handshake.destroy();
    });
    this.#handshake.on('error', (error) => this.#end(this.#closing ?? { code: lostCode, reason: String(error) }));
  }

  send(data: string | Uint8Array<ArrayBuffer>): void {
    if (typeof data === 'string') this.#write(opcodes.text, new TextEncoder().encode(data));
    else this.#write(opcodes.binary, data);
  }

  close(code = 1000): void {
    if (this.#closing !== undefined) return;
    this.#closing = { code, reason: '' };
    if (this.#stream === undefined) {
      this.#handshake.destroy();
      return;
    }
    this.#write(opcodes.close, new Uint8Array([code >> 8, code & 0xff]));
    this.#hangUp(this.#stream);
  }

  /** Ends the connection, by force if the other side does not. */
  #hangUp(stream: Stream): void {
    stream.end();
    clearTimeout(this.#timer);
    this.#timer = startTimer(() => stream.destroy(), this.#times.closeMs);
  }

  /** Waits for the next sign of life. */
  #expectFrame(stream: Stream): void {
    if (this.#closing !== undefined) return;
    clearTimeout(this.#timer);
    const { silenceMs } = this.#times;
    this.#timer = startTimer(() => {
      this.#closing ??= { code: lostCode, reason: `nothing was received for ${silenceMs} ms` };
      stream.destroy();
    }, silenceMs);
  }

  /** `head` is what came with the response to the handshake. */
  #open(stream: Stream, head: Uint8Array): void {
    this.#stream = stream;
    const receive = (chunk: Uint8Array) => {
      this.#expectFrame(stream);
      try {
        for (const frame of this.#parser.push(chunk)) this.#receive(frame);
      } catch (error) {
        this.#closing ??= { code: 1002, reason: String(error) };
        stream.destroy();
      }
    };
    stream.on('data', receive);
    stream.on('error', () => undefined);
    stream.on('close', () => {
      clearTimeout(this.#timer);
      this.#end(this.#closing ?? { code: lostCode, reason: '' });
    });
    receive(head);
  }

  #receive({ opcode, payload, isLast }: Frame): void {
    if (opcode === opcodes.ping) this.#write(opcodes.pong, payload);
    if (opcode === opcodes.ping || opcode === opcodes.pong) return;
    if (opcode === opcodes.close) {
      const code = payload.length < 2 ? 1005 : ((payload[0] ?? 0) << 8) | (payload[1] ?? 0);
      this.#closing ??= { code, reason: decoder.decode(payload.subarray(2)) };
      this.#write(opcodes.close, payload);
      if (this.#stream !== undefined) this.#hangUp(this.#stream);
      return;
    }
    this.#message ??= { opcode, parts: [] };
    this.#message.parts.push(payload);
    if (!isLast) return;
    const message = this.#message;
    this.#message = undefined;
    const bytes = joined(message.parts);
    this.onmessage?.({ data: message.opcode === opcodes.text ? decoder.decode(bytes) : bytes.buffer });
  }

  #write(opcode: number, payload: Uint8Array): void {
    this.#stream?.write(clientFrame(opcode, payload));
  }

  #end(closing: Closing): void {
    const { onclose } = this;
    this.onclose = null;
    onclose?.(closing);
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let start = 0;
  for (const part of parts) {
    bytes.set(part, start);
    start += part.length;
  }
  return bytes;
}

function nodeHttp(protocol: string): Http {
  const http = (globalThis as Runtime).process?.getBuiltinModule?.(protocol === 'https:' ? 'node:https' : 'node:http');
  if (http === undefined) throw new MayflyError('This runtime has no WebSocket. Set globalThis.WebSocket to one.');
  return http as Http;
}
