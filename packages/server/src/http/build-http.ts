import { fastify, LogController } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { notFound } from '../core/errors/api-error.ts';
import { accountRoutes } from './account.ts';
import { addBodyParser } from './body-parser.ts';
import { answerClientError, sendError } from './errors.ts';
import { addEveryRequest } from './every-request.ts';
import { executionRoutes } from './executions.ts';
import { fileRoutes } from './files.ts';
import { addGate } from './gate.ts';
import { healthRoute } from './health.ts';
import type { HttpApp, HttpDeps } from './http-app.ts';
import { metricsRoute } from './metrics.ts';
import { portRoutes } from './ports.ts';
import { previewRootRoute } from './preview-root.ts';
import { showWindow } from './rate-limits.ts';
import { referenceRoutes } from './reference/routes.ts';
import { requestIdOf } from './request-id.ts';
import { sandboxRoutes } from './sandboxes.ts';
import { addValidation } from './validation.ts';

/** How many connections are open at once at most; one more is closed at once. */
const maxConnections = 8192;

/** The whole HTTP interface. Listens to nothing by itself: tests call it without a socket. */
export function buildHttp(deps: HttpDeps): HttpApp {
  const app = fastify({
    loggerInstance: deps.log,
    logController: new LogController({ disableRequestLogging: true }),
    // A logger of its own for each request would cost as much as a read from the database; lines name the request themselves.
    childLoggerFactory: (logger) => logger,
    requestIdHeader: false,
    genReqId: requestIdOf,
    bodyLimit: deps.core.limits.bodyBytes,
    trustProxy: deps.trustProxy,
    // How long a caller may take to send a request. How long the answer takes is not limited: commands run for minutes.
    requestTimeout: 60_000,
    connectionTimeout: 0,
    keepAliveTimeout: 72_000,
    // A missing Host is answered by us: Node's own answer has no body.
    http: { headersTimeout: 30_000, maxHeaderSize: 16_384, requireHostHeader: false },
    // Requests that arrive on open connections during a stop are served; the service itself takes no new sandboxes then.
    return503OnClosing: false,
    // A method that the interface does not name is not found.
    exposeHeadRoutes: false,
    // No id is too long to be looked up: it is not found.
    routerOptions: { maxParamLength: 16_384 },
    frameworkErrors: (error, request, reply) => {
      showWindow(reply, deps.core.windows.countSource(request.ip));
      sendError(deps.core, error, request, reply);
    },
    clientErrorHandler: (error, socket) => answerClientError(deps.core, error, socket),
  }).withTypeProvider<ZodTypeProvider>();
  app.server.maxConnections = maxConnections;
  // An Expect that is not known is no reason to refuse: without a listener Node answers 417 with no body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.setErrorHandler((error, request, reply) => sendError(deps.core, error, request, reply));
  app.setNotFoundHandler(() => {
    throw notFound('path');
  });

  addEveryRequest(app, deps);
  addBodyParser(app, deps.core.limits.bodyBytes);
  addValidation(app);
  healthRoute(app, deps);
  metricsRoute(app, deps);
  previewRootRoute(app, deps);
  referenceRoutes(app, deps);
  app.register(async (v1: HttpApp) => addVersionOne(v1, deps), { prefix: '/v1' });
  return app;
}

function addVersionOne(v1: HttpApp, deps: HttpDeps): void {
  addGate(v1, deps.core);
  v1.setNotFoundHandler(() => {
    throw notFound('path');
  });
  sandboxRoutes(v1, deps);
  executionRoutes(v1, deps);
  fileRoutes(v1, deps);
  portRoutes(v1, deps);
  accountRoutes(v1, deps);
}
