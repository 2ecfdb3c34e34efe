import type { IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import type { HttpResponse } from './http-client.ts';

export interface RawOptions {
  /** Closes the sending side after the last byte. */
  readonly halfClose?: boolean;
  /** The response has no body despite its Content-Length, e.g. a response to HEAD. */
  readonly headOnly?: boolean;
  readonly localAddress?: string;
}

/** Sends bytes that need not be HTTP and reads one response. Undefined if the service closed the connection without one. */
export function sendRawBytes(
  baseUrl: string,
  bytes: Buffer,
  deadlineMs: number,
  { halfClose = false, headOnly = false, localAddress }: RawOptions = {},
): Promise<HttpResponse | undefined> {
  return new Promise((resolve, reject) => {
    const socket = open(new URL(baseUrl), localAddress);
    const pieces: Buffer[] = [];
    let size = 0;
    let needed = 0;
    const timer = setTimeout(() => finish(new Error(`no response in ${deadlineMs} ms`)), deadlineMs);
    const finish = (error?: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      if (error) reject(error);
      else resolve(parseResponse(Buffer.concat(pieces)));
    };
    socket.on('data', (piece: Buffer) => {
      pieces.push(piece);
      size += piece.length;
      if (size < needed) return;
      needed = expectedSize(Buffer.concat(pieces), headOnly);
      if (size >= needed) finish();
    });
    // An upload that is refused may be reset while it is being sent: a response before that counts.
    socket.on('error', () => finish());
    socket.on('close', () => finish());
    if (halfClose) socket.end(bytes);
    else socket.write(bytes);
  });
}

function open(url: URL, localAddress: string | undefined): Socket {
  const secure = url.protocol === 'https:';
  const port = Number(url.port || (secure ? 443 : 80));
  const options = { host: url.hostname, port, ...(localAddress && { localAddress }) };
  return secure ? connectSecurely({ ...options, servername: url.hostname }) : connect(options);
}

function headEnd(bytes: Buffer): number {
  return bytes.indexOf('\r\n\r\n');
}

function isInterim(head: string): boolean {
  return /^HTTP\/1\.1 1\d\d /i.test(head);
}

/** The size of the complete response, as far as it is known yet. */
function expectedSize(bytes: Buffer, headOnly: boolean): number {
  const end = headEnd(bytes);
  if (end < 0) return bytes.length + 1;
  const head = bytes.subarray(0, end).toString('latin1');
  if (isInterim(head)) return end + 4 + expectedSize(bytes.subarray(end + 4), headOnly);
  if (headOnly || /^HTTP\/1\.1 (204|304)/.test(head)) return end + 4;
  // A stream may never end.
  if (/\r\ncontent-type: *text\/event-stream/i.test(head)) return end + 4;
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  return length === undefined ? Number.POSITIVE_INFINITY : end + 4 + Number(length);
}

function parseResponse(bytes: Buffer): HttpResponse | undefined {
  const end = headEnd(bytes);
  if (end < 0) return undefined;
  const [line = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  if (isInterim(line)) return parseResponse(bytes.subarray(end + 4));
  const headers: IncomingHttpHeaders = {};
  for (const header of lines) {
    const colon = header.indexOf(':');
    headers[header.slice(0, colon).toLowerCase()] = header.slice(colon + 1).trim();
  }
  const length = headers['content-length'];
  const rest = bytes.subarray(end + 4, length === undefined ? undefined : end + 4 + Number(length));
  const body = headers['transfer-encoding'] === 'chunked' ? joinChunks(rest) : rest;
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(line)?.[1]);
  return { status, headers, text: body.toString('utf8') };
}

/** The content of a chunked body, as far as it is complete. */
function joinChunks(bytes: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = lineEnd < 0 ? 0 : Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (!(size > 0)) return Buffer.concat(chunks);
    const start = lineEnd + 2;
    chunks.push(bytes.subarray(start, start + size));
    at = start + size + 2;
  }
}
