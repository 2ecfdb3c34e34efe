// Runs on the host and in sandboxes: nothing but Node.js is imported.
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import type { ClientHttp2Session } from 'node:http2';
import type { Writable } from 'node:stream';

/** One request to its end: `down` bytes are asked for, `up` bytes are sent. */
export type Exchange = (down: number, up: number) => Promise<void>;

const block = Buffer.alloc(65_536);

const sendZeros = (into: Writable, count: number): void => {
  for (let left = count; left > 0; left -= block.length) {
    const piece = left < block.length ? block.subarray(0, left) : block;
    if (!into.write(piece)) {
      into.once('drain', () => sendZeros(into, left - piece.length));
      return;
    }
  }
  into.end();
};

/** Settles when all bytes that were asked for have come. */
const receive = (body: NodeJS.ReadableStream, down: number): Promise<void> =>
  new Promise((resolve, reject) => {
    let received = 0;
    body.on('data', (piece: Buffer) => {
      received += piece.length;
    });
    body.on('end', () => (received === down ? resolve() : reject(new Error(`${received} bytes instead of ${down}`))));
    body.on('error', reject);
  });

/** Over HTTP/1.1, with whatever way to connect the agent in the options has. */
export const http1Exchange =
  (send: (options: RequestOptions) => ClientRequest, options: RequestOptions, host = 'localhost'): Exchange =>
  async (down, up) => {
    const headers = { host, ...(up > 0 && { 'content-length': up }) };
    const request = send({ ...options, headers, path: `/?count=${down}`, method: up > 0 ? 'POST' : 'GET' });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      request.on('response', resolve).on('error', reject);
    });
    sendZeros(request, up);
    const answer = await answered;
    if (answer.statusCode !== 200) throw new Error(`the server answered ${answer.statusCode}`);
    await receive(answer, down);
  };

/** Over one HTTP/2 connection. */
export const http2Exchange =
  (session: ClientHttp2Session): Exchange =>
  async (down, up) => {
    const headers = { ':path': `/?count=${down}`, ':method': up > 0 ? 'POST' : 'GET' };
    const stream = session.request(headers, { endStream: up === 0 });
    const received = receive(stream, down);
    if (up > 0) sendZeros(stream, up);
    stream.on('response', ({ ':status': status }) => {
      if (status !== 200) stream.destroy(new Error(`the server answered ${status}`));
    });
    await received;
  };
