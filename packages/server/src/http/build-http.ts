import { limits } from '@mayfly/contract';
import { fastify, LogController } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { notFound } from '../core/errors/api-error.ts';
import { addAuthentication } from './authentication.ts';
import { addBodyParser } from './body-parser.ts';
import { addCrossOrigin } from './cross-origin.ts';
import { answerClientError, sendError } from './errors.ts';
import { executionRoutes } from './executions.ts';
import { healthRoute } from './health.ts';
import type { HttpApp, HttpDeps } from './http-app.ts';
import { addRequestIds, requestIdOf } from './request-id.ts';
import { addRequestLog } from './request-log.ts';
import { sandboxRoutes } from './sandboxes.ts';
import { addValidation } from './validation.ts';

/** How many connections are open at once at most; one more is closed at once. */
const maxConnections = 8192;

/** The whole HTTP interface. Listens to nothing by itself: tests call it without a socket. */
export function buildHttp(deps: HttpDeps): HttpApp {
  const app = fastify({
    loggerInstance: deps.log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    requestIdHeader: false,
    genReqId: requestIdOf,
    bodyLimit: limits.bodyBytes,
    // How long a caller may take to send a request. How long the answer takes is not limited: commands run for minutes.
    requestTimeout: 60_000,
    connectionTimeout: 0,
    keepAliveTimeout: 72_000,
    http: { headersTimeout: 30_000, maxHeaderSize: 16_384 },
    // Requests that arrive on open connections during a stop are served; the service itself takes no new sandboxes then.
    return503OnClosing: false,
    // No id is too long to be looked up: it is not found.
    routerOptions: { maxParamLength: 16_384 },
    frameworkErrors: (error, request, reply) => void sendError(error, request, reply),
    clientErrorHandler: answerClientError,
  }).withTypeProvider<ZodTypeProvider>();
  app.server.maxConnections = maxConnections;
  app.decorateRequest('account');
  app.decorateRequest('logged');
  app.setErrorHandler(sendError);
  app.setNotFoundHandler(() => {
    throw notFound('path');
  });

  addRequestIds(app);
  addRequestLog(app);
  addBodyParser(app);
  addValidation(app);
  closeConnectionsWhileStopping(app, deps);
  healthRoute(app, deps);
  app.register(async (v1: HttpApp) => addVersionOne(v1, deps), { prefix: '/v1' });
  return app;
}

function addVersionOne(v1: HttpApp, deps: HttpDeps): void {
  addCrossOrigin(v1);
  addAuthentication(v1, deps.core);
  v1.setNotFoundHandler(() => {
    throw notFound('path');
  });
  sandboxRoutes(v1, deps);
  executionRoutes(v1, deps);
}

function closeConnectionsWhileStopping(app: HttpApp, deps: HttpDeps): void {
  app.addHook('onSend', async (_request, reply) => {
    if (deps.readiness() === 'stopping') reply.header('connection', 'close');
  });
}
