import type { Http2SecureServer } from 'node:http2';
import type { Socket } from 'node:net';
import { Refused, refusalResponse } from '../forward/refusal.ts';
import type { RefusedRequests } from '../forward/refused-requests.ts';

/** How long the client has to read the response before the connection is closed. */
const readMs = 1_000;

/** Status and message by error code; everything else is 400. */
const malformed: Readonly<Record<string, readonly [status: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive.'],
};

/** Answers HTTP/1.1 requests that Node cannot parse with the reason, and closes their connections. */
export function answerClientErrors(server: Http2SecureServer, refused: RefusedRequests): void {
  const answered = new WeakSet<Socket>();
  server.on('clientError', (error: Error & { readonly code?: string }, socket: Socket) => {
    if (answered.has(socket)) return;
    answered.add(socket);
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    const source = socket.remoteAddress ?? '';
    const [status, refusal] = reasonOf(error.code, source, refused);
    refused.note(source, refusal.kind);
    const { headers, body } = refusalResponse(refusal, undefined);
    const lines = Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}`);
    socket.end([`HTTP/1.1 ${status}`, ...lines, '', body].join('\r\n'));
    setTimeout(() => socket.destroy(), readMs).unref();
  });
}

function reasonOf(code: string | undefined, source: string, refused: RefusedRequests): readonly [string, Refused] {
  try {
    refused.check(source);
  } catch (error) {
    if (error instanceof Refused) return ['429 Too Many Requests', error];
    throw error;
  }
  const [status, message] = malformed[code ?? ''] ?? ['400 Bad Request', 'The request is malformed.'];
  return [status, new Refused('bad_request', message)];
}
