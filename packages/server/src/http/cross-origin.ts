import type { FastifyReply, FastifyRequest } from 'fastify';

const exposed = 'Location, X-Request-Id, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After';

/** Lets web pages of any origin call the interface; keys travel in a header, never in a cookie. */
export function allowAnyOrigin({ headers }: FastifyRequest, reply: FastifyReply): void {
  reply.header('access-control-allow-origin', '*');
  if (headers.origin !== undefined) reply.header('access-control-expose-headers', exposed);
}

/** Whether a browser only asks if a page may call. */
export function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

/** Tells a browser that a page may. */
export function answerPreflight(reply: FastifyReply): FastifyReply {
  return reply
    .code(204)
    .header('access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE')
    .header('access-control-allow-headers', 'Authorization, Content-Type, Idempotency-Key, X-Request-Id')
    .header('access-control-max-age', '86400')
    .send();
}
