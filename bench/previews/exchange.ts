// Runs on the host and in sandboxes, so it imports nothing but Node.js.
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import type { ClientHttp2Session } from 'node:http2';
import type { Writable } from 'node:stream';

/** Performs one request: `down` bytes are requested, `up` bytes are sent. */
export type Exchange = (down: number, up: number) => Promise<void>;

const block = Buffer.alloc(65_536);

function sendZeros(into: Writable, count: number): void {
  for (let left = count; left > 0; left -= block.length) {
    const piece = left < block.length ? block.subarray(0, left) : block;
    if (!into.write(piece)) {
      into.once('drain', () => sendZeros(into, left - piece.length));
      return;
    }
  }
  into.end();
}

/** Resolves when all requested bytes have arrived. */
function receive(body: NodeJS.ReadableStream, down: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let received = 0;
    body.on('data', (piece: Buffer) => {
      received += piece.length;
    });
    body.on('end', () => (received === down ? resolve() : reject(new Error(`${received} bytes instead of ${down}`))));
    body.on('error', reject);
  });
}

/** Over HTTP/1.1, with the agent in the options. */
export function http1Exchange(
  send: (options: RequestOptions) => ClientRequest,
  options: RequestOptions,
  host = 'localhost',
): Exchange {
  return async (down, up) => {
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
}

/** Over one HTTP/2 connection. */
export function http2Exchange(session: ClientHttp2Session): Exchange {
  return async (down, up) => {
    const headers = { ':path': `/?count=${down}`, ':method': up > 0 ? 'POST' : 'GET' };
    const stream = session.request(headers, { endStream: up === 0 });
    const received = receive(stream, down);
    if (up > 0) sendZeros(stream, up);
    stream.on('response', ({ ':status': status }) => {
      if (status !== 200) stream.destroy(new Error(`the server answered ${status}`));
    });
    await received;
  };
}
