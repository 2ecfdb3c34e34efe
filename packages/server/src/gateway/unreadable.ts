import type { Http2SecureServer } from 'node:http2';
import type { Duplex } from 'node:stream';
import { refusalOf } from './refusal.ts';

/** How long a visitor that could not be understood may take to read why. */
const readMs = 1_000;

/** Tells visitors over HTTP/1.1 whose request cannot be read what is wrong with it, and ends their connection. */
export function answerUnreadable(server: Http2SecureServer): void {
  const told = new WeakSet<Duplex>();
  server.on('clientError', (error: Error & { readonly code?: string }, socket: Duplex) => {
    if (told.has(socket)) return;
    told.add(socket);
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    const [status, message] = reasonOf(error.code);
    const { headers, body } = refusalOf('bad_request', message, undefined);
    const lines = Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}`);
    socket.end([`HTTP/1.1 ${status}`, ...lines, '', body].join('\r\n'));
    setTimeout(() => socket.destroy(), readMs).unref();
  });
}

function reasonOf(code: string | undefined): readonly [status: string, message: string] {
  if (code === 'HPE_HEADER_OVERFLOW') return ['431 Request Header Fields Too Large', 'The headers are too large.'];
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return ['408 Request Timeout', 'The request took too long to arrive.'];
  return ['400 Bad Request', 'The request cannot be read.'];
}
