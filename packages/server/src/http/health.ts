import type { HttpApp, HttpDeps } from './http-app.ts';

/** GET /healthz: 200 while a create would be served. Needs no key. */
export function healthRoute(app: HttpApp, deps: HttpDeps): void {
  app.route({
    method: 'GET',
    url: '/healthz',
    handler: async (_request, reply) => {
      const readiness = deps.readiness();
      const ready = readiness === 'ready';
      return reply.code(ready ? 200 : 503).send({ status: ready ? 'ok' : readiness });
    },
  });
}
