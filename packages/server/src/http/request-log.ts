import type { HttpApp } from './http-app.ts';

/** One line per request, with what it was about as fields. Neither keys nor bodies nor queries are in it. */
export function addRequestLog(app: HttpApp): void {
  app.addHook('onRequest', async (request) => {
    request.logged = {};
  });
  app.addHook('onResponse', async (request, reply) => {
    request.log.info(
      {
        method: request.method,
        route: request.routeOptions.url ?? null,
        status: reply.statusCode,
        duration_ms: Math.round(reply.elapsedTime * 10) / 10,
        account_id: request.account?.id,
        ...request.logged,
      },
      'request',
    );
  });
}
