import type { Http2SecureServer } from 'node:http2';
import type { Duplex } from 'node:stream';
import { refusalResponse } from '../forward/refusal.ts';

/** How long the client has to read the response before the connection is closed. */
const readMs = 1_000;

/** Answers HTTP/1.1 requests that Node cannot parse with the reason, and closes their connections. */
export function answerClientErrors(server: Http2SecureServer): void {
  const answered = new WeakSet<Duplex>();
  server.on('clientError', (error: Error & { readonly code?: string }, socket: Duplex) => {
    if (answered.has(socket)) return;
    answered.add(socket);
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    const [status, message] = reasonOf(error.code);
    const { headers, body } = refusalResponse('bad_request', message, undefined);
    const lines = Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}`);
    socket.end([`HTTP/1.1 ${status}`, ...lines, '', body].join('\r\n'));
    setTimeout(() => socket.destroy(), readMs).unref();
  });
}

function reasonOf(code: string | undefined): readonly [status: string, message: string] {
  if (code === 'HPE_HEADER_OVERFLOW') return ['431 Request Header Fields Too Large', 'The headers are too large.'];
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return ['408 Request Timeout', 'The request took too long to arrive.'];
  return ['400 Bad Request', 'The request is malformed.'];
}
