import { MayflyError } from '../api/api-error.ts';
import { encodeBase64 } from '../api/base64.ts';
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

/** Opens a WebSocket: that of the runtime, or our own where there is none, as in Node.js 20. */
export function openSocket(url: URL): Socket {
  const { WebSocket: Native } = globalThis as { WebSocket?: new (url: URL) => Socket };
  return Native === undefined ? new NodeSocket(url) : new Native(url);
}

interface Stream {
  on(event: string, listener: (value: Uint8Array) => void): unknown;
  write(data: Uint8Array): unknown;
  end(): unknown;
  destroy(): unknown;
}

interface Http {
  get(
    url: URL,
    options: object,
  ): { on(event: string, listener: (response: unknown, stream: Stream, head: Uint8Array) => void): unknown };
}

const lostCode = 1006;
const decoder = new TextDecoder();

/** A WebSocket over the HTTP client of Node.js. */
class NodeSocket implements Socket {
  binaryType = 'arraybuffer';
  onmessage: Socket['onmessage'] = null;
  onclose: Socket['onclose'] = null;
  readonly #parser = new FrameParser();
  #stream: Stream | undefined;
  #closing: Closing | undefined;
  #message: { readonly opcode: number; readonly parts: Uint8Array[] } | undefined;

  constructor(url: URL) {
    const key = encodeBase64(crypto.getRandomValues(new Uint8Array(16)));
    const httpUrl = new URL(url.href.replace(/^ws/, 'http'));
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': key,
    };
    const request = nodeHttp(httpUrl.protocol).get(httpUrl, { headers, agent: false });
    request.on('upgrade', (_response, stream, head) => this.#open(stream, head));
    request.on('response', () => this.#end({ code: lostCode, reason: 'the handshake was refused' }));
    request.on('error', (error) => this.#end({ code: lostCode, reason: String(error) }));
  }

  send(data: string | Uint8Array<ArrayBuffer>): void {
    if (typeof data === 'string') this.#write(opcodes.text, new TextEncoder().encode(data));
    else this.#write(opcodes.binary, data);
  }

  close(code = 1000): void {
    this.#closing ??= { code, reason: '' };
    this.#write(opcodes.close, new Uint8Array([code >> 8, code & 0xff]));
    this.#stream?.end();
  }

  /** `head` is what came with the response to the handshake. */
  #open(stream: Stream, head: Uint8Array): void {
    this.#stream = stream;
    const receive = (chunk: Uint8Array) => {
      try {
        for (const frame of this.#parser.push(chunk)) this.#receive(frame);
      } catch (error) {
        this.#closing ??= { code: 1002, reason: String(error) };
        stream.destroy();
      }
    };
    receive(head);
    stream.on('data', receive);
    stream.on('error', () => undefined);
    stream.on('close', () => this.#end(this.#closing ?? { code: lostCode, reason: '' }));
    if (this.#closing !== undefined) stream.destroy();
  }

  #receive({ opcode, payload, isLast }: Frame): void {
    if (opcode === opcodes.ping) this.#write(opcodes.pong, payload);
    if (opcode === opcodes.ping || opcode === opcodes.pong) return;
    if (opcode === opcodes.close) {
      const code = payload.length < 2 ? 1005 : ((payload[0] ?? 0) << 8) | (payload[1] ?? 0);
      this.#closing ??= { code, reason: decoder.decode(payload.subarray(2)) };
      this.#write(opcodes.close, payload);
      this.#stream?.end();
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
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
  const http = process?.getBuiltinModule?.(protocol === 'https:' ? 'node:https' : 'node:http');
  if (http === undefined) throw new MayflyError('This runtime has no WebSocket. Set globalThis.WebSocket to one.');
  return http as Http;
}
