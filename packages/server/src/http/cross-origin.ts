import type { HttpApp } from './http-app.ts';

const exposed = 'Location, X-Request-Id, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After';

/** Lets web pages of any origin call the interface; keys travel in a header, never in a cookie. A preflight needs no key. */
export function addCrossOrigin(app: HttpApp): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('access-control-allow-origin', '*');
    if (request.headers.origin !== undefined) reply.header('access-control-expose-headers', exposed);
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
      done();
      return;
    }
    reply
      .code(204)
      .header('access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE')
      .header('access-control-allow-headers', 'Authorization, Content-Type, Idempotency-Key, X-Request-Id')
      .header('access-control-max-age', '86400')
      .send();
  });
}
