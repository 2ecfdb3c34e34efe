import type { IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import type { Incoming } from './exchange.ts';

export interface RawOptions {
  /** Says that nothing more comes, once all is sent. */
  readonly halfClose?: boolean;
  /** Whether the answer has no body whatever its length says, as the answer to a HEAD. */
  readonly headOnly?: boolean;
  readonly localAddress?: string;
}

/** Sends bytes that may be no HTTP and reads one answer. Undefined when the other end closed without one; silence fails. */
export const sendRaw = (
  baseUrl: string,
  bytes: Buffer,
  deadlineMs: number,
  { halfClose = false, headOnly = false, localAddress }: RawOptions = {},
): Promise<Incoming | undefined> =>
  new Promise((resolve, reject) => {
    const socket = open(new URL(baseUrl), localAddress);
    const pieces: Buffer[] = [];
    let size = 0;
    let needed = 0;
    const timer = setTimeout(() => finish(new Error(`no answer in ${deadlineMs} ms`)), deadlineMs);
    const finish = (error?: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      if (error) reject(error);
      else resolve(parseAnswer(Buffer.concat(pieces)));
    };
    socket.on('data', (piece: Buffer) => {
      pieces.push(piece);
      size += piece.length;
      if (size < needed) return;
      needed = sizeOf(Buffer.concat(pieces), headOnly);
      if (size >= needed) finish();
    });
    // A refused upload may be reset while it is being sent: what was answered before counts.
    socket.on('error', () => finish());
    socket.on('close', () => finish());
    if (halfClose) socket.end(bytes);
    else socket.write(bytes);
  });

const open = (url: URL, localAddress: string | undefined): Socket => {
  const secure = url.protocol === 'https:';
  const port = Number(url.port || (secure ? 443 : 80));
  const options = { host: url.hostname, port, ...(localAddress && { localAddress }) };
  return secure ? connectSecurely({ ...options, servername: url.hostname }) : connect(options);
};

const headEnd = (bytes: Buffer): number => bytes.indexOf('\r\n\r\n');
const isInterim = (head: string): boolean => /^HTTP\/1\.1 1\d\d /i.test(head);

/** How many bytes the whole answer has, as far as can be told yet. */
const sizeOf = (bytes: Buffer, headOnly: boolean): number => {
  const end = headEnd(bytes);
  if (end < 0) return bytes.length + 1;
  const head = bytes.subarray(0, end).toString('latin1');
  if (isInterim(head)) return end + 4 + sizeOf(bytes.subarray(end + 4), headOnly);
  if (headOnly || /^HTTP\/1\.1 (204|304)/.test(head)) return end + 4;
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  return length === undefined ? Number.POSITIVE_INFINITY : end + 4 + Number(length);
};

const parseAnswer = (bytes: Buffer): Incoming | undefined => {
  const end = headEnd(bytes);
  if (end < 0) return undefined;
  const [line = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  if (isInterim(line)) return parseAnswer(bytes.subarray(end + 4));
  const headers: IncomingHttpHeaders = {};
  for (const header of lines) {
    const colon = header.indexOf(':');
    headers[header.slice(0, colon).toLowerCase()] = header.slice(colon + 1).trim();
  }
  const length = headers['content-length'];
  const body = bytes.subarray(end + 4, length === undefined ? undefined : end + 4 + Number(length));
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(line)?.[1]);
  return { status, headers, text: body.toString('utf8') };
};
