import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { HttpApp } from './http-app.ts';

const acceptable = /^[\x21-\x7e]{1,128}$/;

/** The caller's X-Request-Id if it is 1 to 128 visible ASCII characters, else a fresh one. */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && acceptable.test(given) ? given : newRequestId();
}

export function newRequestId(): string {
  return `req_${randomBytes(12).toString('hex')}`;
}

/** Puts the request's id on every response. */
export function addRequestIds(app: HttpApp): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
  });
}
