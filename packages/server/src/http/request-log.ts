import type { HttpApp } from './http-app.ts';

/** One line per request, with what it was about as fields. Neither keys nor bodies nor queries are in it. */
export function addRequestLog(app: HttpApp): void {
  app.addHook('onRequest', (request, _reply, done) => {
    request.logged = {};
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    if (!isShown(app.log.level)) {
      done();
      return;
    }
    request.log.info(
      {
        request_id: request.id,
        method: request.method,
        route: request.routeOptions.url ?? null,
        status: reply.statusCode,
        duration_ms: Math.round(reply.elapsedTime * 10) / 10,
        account_id: request.account?.id,
        ...request.logged,
      },
      'request',
    );
    done();
  });
}

/** Whether lines of the level "info" are written at all. */
function isShown(level: string): boolean {
  return level === 'info' || level === 'debug' || level === 'trace';
}
