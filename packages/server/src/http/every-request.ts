import { forgetContentType, keepConnectionAfterRefusal } from './body-parser.ts';
import type { HttpApp, HttpDeps } from './http-app.ts';
import { showWindow } from './rate-limits.ts';
import { areAnswersLogged, logAnswer } from './request-log.ts';

/** What is done with every request, whatever it asks for: one hook for each moment, since every hook costs every request. */
export function addEveryRequest(app: HttpApp, { core, log, readiness }: HttpDeps): void {
  app.decorateRequest('account');
  app.decorateRequest('logged');
  app.decorateRequest('window');

  app.addHook('onRequest', (request, _reply, done) => {
    request.logged = {};
    forgetContentType(request.raw);
    done();
  });

  app.addHook('onSend', (request, reply, payload, done) => {
    reply.header('x-request-id', request.id);
    if (request.window !== undefined) showWindow(reply, request.window);
    keepConnectionAfterRefusal(reply);
    if (readiness() === 'stopping') reply.header('connection', 'close');
    done(null, payload);
  });

  app.addHook('onResponse', (request, reply, done) => {
    const { url } = request.routeOptions;
    // By the pattern of the path, so that paths cannot fill the memory.
    core.metrics.requestAnswered(request.method, url ?? 'none', reply.statusCode);
    if (areAnswersLogged(log.level)) logAnswer(request, reply, url);
    done();
  });
}
