import type { ServerOptions } from 'node:http';
import { callbackify } from 'node:util';
import { dashboardApiPrefix } from '@mayfly/contract/dashboard';
import { type FastifyReply, type FastifyRequest, fastify, LogController } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { ControlNeeds } from '../core/executions/live/control.ts';
import type { ManagePreviewsNeeds } from '../core/previews/manage-previews.ts';
import type { HandshakePace } from '../listening/handshake-turns.ts';
import { refuseFloods } from '../listening/refuse-floods.ts';
import type { ConnectionLimits } from '../listening/source-limits.ts';
import { strangerLog } from '../listening/stranger-log.ts';
import { type AdmissionNeeds, type AdmitRequest, addAccessControl, pathNotFound, requestAdmission } from './access.ts';
import { addJsonBodyParser, type ReadBodyNeeds } from './bodies/json-body.ts';
import { addValidation } from './contract-routes.ts';
import { addDashboardApi, type DashboardApiNeeds } from './dashboard/dashboard-api.ts';
import { pageRoutes } from './dashboard/pages.ts';
import { answerClientError, answerRefusedUrl, maxHeaderBytes, sendError } from './error-responses.ts';
import { addHooks, type HookNeeds, prepareRequest, requestIdOf, sourceReader } from './hooks.ts';
import type { ApiTls, HttpApp, HttpDeps } from './http-app.ts';
import { createRequestLog } from './request-log.ts';
import { type AccountRouteNeeds, accountRoutes } from './routes/account.ts';
import { type CopyRouteNeeds, copyRoutes } from './routes/copies.ts';
import { type ExecutionRouteNeeds, executionRoutes } from './routes/executions.ts';
import { type FileRouteNeeds, fileRoutes } from './routes/files.ts';
import { liveRoutes } from './routes/live.ts';
import { operationalRoutes } from './routes/operational.ts';
import { portRoutes } from './routes/ports.ts';
import { type ReferenceNeeds, referenceRoutes } from './routes/reference.ts';
import { type SandboxRouteNeeds, sandboxRoutes } from './routes/sandboxes.ts';
import { type SnapshotRouteNeeds, snapshotRoutes } from './routes/snapshots.ts';
import { type StatsRouteNeeds, statsRoutes } from './routes/stats.ts';
import { type TerminalRouteNeeds, terminalRoutes } from './routes/terminals.ts';
import { type TicketRouteNeeds, ticketRoutes } from './routes/tickets.ts';
import { cutSlowReaders, defaultReadingLimits } from './slow-readers.ts';
import { asksForWebSocket, routeUpgrades } from './sockets/upgrades.ts';

/** What the operations of the API need. */
type VersionOneNeeds = AdmissionNeeds &
  SandboxRouteNeeds &
  CopyRouteNeeds &
  ExecutionRouteNeeds &
  ControlNeeds &
  FileRouteNeeds &
  ManagePreviewsNeeds &
  SnapshotRouteNeeds &
  StatsRouteNeeds &
  TerminalRouteNeeds &
  AccountRouteNeeds &
  TicketRouteNeeds;

/** What the HTTP API needs of the core. */
export type ApiNeeds = VersionOneNeeds & DashboardApiNeeds & HookNeeds & ReadBodyNeeds & ReferenceNeeds;

/** Further connections are closed as soon as they are accepted. */
export const maxConnections = 8_192;

/** Connections of one source address. More than at the gateway: an account alone may have 1,200 commands open, and most connections cost no handshake. */
export const defaultConnectionLimits: ConnectionLimits = {
  connectionsPerSource: 2_048,
  newConnectionsBurst: 2_048,
  newConnectionsPerSecond: 256,
};

/** How fast TLS handshakes begin. After its first message, a client has as long again for the rest. */
export const handshakePace: HandshakePace = { perTurn: 4, clientHelloMs: 10_000 };

/** Builds the whole HTTP API without listening, so that tests can call it without a socket. */
export function buildHttp(deps: HttpDeps<ApiNeeds>): HttpApp {
  const { core } = deps;
  const { metrics, windows } = core;
  const paced = strangerLog(deps.log);
  const requestLog = createRequestLog(deps.log, paced);
  const admit = requestAdmission(core);
  const sourceOf = sourceReader(deps.trustProxy);
  const app = fastify({
    loggerInstance: deps.log,
    logController: new LogController({ disableRequestLogging: true }),
    // A child logger per request costs as much as a database read. Log lines carry the request id themselves.
    childLoggerFactory: (logger) => logger,
    requestIdHeader: false,
    genReqId: requestIdOf,
    bodyLimit: core.limits.bodyBytes,
    // Neither the body nor the response has a fixed time limit: `watchBody` cuts off stalled bodies, and commands run for minutes.
    requestTimeout: 0,
    connectionTimeout: 0,
    keepAliveTimeout: 72_000,
    ...transport(deps.tls, {
      headersTimeout: 30_000,
      maxHeaderSize: maxHeaderBytes,
      // Checked by `requireHost`: Node's own response has no body.
      requireHostHeader: false,
      shouldUpgradeCallback: asksForWebSocket,
    }),
    // During shutdown, requests on open connections are served; core refuses new sandboxes.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    // An id of any length is looked up and not found, instead of being refused by the router.
    routerOptions: { maxParamLength: maxHeaderBytes },
    frameworkErrors: (error, request, reply) => {
      prepareRequest(request, reply, { sourceOf, bodyPace: deps.bodyPace });
      void answerRefusedUrl({ core, admit, requestLog }, error, request, reply);
    },
    clientErrorHandler: (error, socket) => answerClientError({ metrics, windows, requestLog }, error, socket),
  }).withTypeProvider<ZodTypeProvider>();
  app.server.maxConnections = maxConnections;
  const limits = { ...defaultConnectionLimits, ...deps.connectionLimits };
  const handshakes = deps.tls && handshakePace;
  refuseFloods(app.server, { port: 'api', limits, handshakes, trustProxy: deps.trustProxy, metrics, log: paced });
  const readingLimits = { ...defaultReadingLimits, ...deps.readingLimits };
  const slowReaders = cutSlowReaders(app.server, readingLimits, () => metrics.slowReaderCut());
  app.addHook('onClose', async () => slowReaders[Symbol.dispose]());
  // Ignore an unknown Expect header: without a listener Node answers 417 without a body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  routeUpgrades(app);
  const answerError = (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
    sendError({ metrics, requestLog }, error, request, reply);
  app.setErrorHandler(answerError);
  app.setNotFoundHandler(() => {
    throw pathNotFound();
  });

  addHooks(app, deps, sourceOf, requestLog);
  addJsonBodyParser(app, core, core.limits.bodyBytes);
  addValidation(app);
  operationalRoutes(app, deps);
  referenceRoutes(app, deps);
  pageRoutes(app, deps);
  app.register(async (v1: HttpApp) => addVersionOne(v1, deps, admit), { prefix: '/v1' });
  const dashboard = { mount: (api: HttpApp) => addOperations(api, deps), sendError: answerError };
  app.register(async (api: HttpApp) => addDashboardApi(api, deps, dashboard), { prefix: dashboardApiPrefix });
  return app;
}

/** Serves HTTP, or HTTPS with the certificate. Fastify types the two servers differently; the API uses what they have in common. */
function transport(tls: ApiTls | undefined, http: ServerOptions): { readonly http: ServerOptions } {
  if (tls === undefined) return { http };
  const { cert, key } = tls;
  const https = {
    ...http,
    cert,
    key,
    minVersion: 'TLSv1.2',
    handshakeTimeout: handshakePace.clientHelloMs,
    SNICallback: callbackify((servername: string) => tls.contextFor(servername)),
  };
  return { https } as unknown as { readonly http: ServerOptions };
}

function addVersionOne(v1: HttpApp, deps: HttpDeps<VersionOneNeeds>, admit: AdmitRequest): void {
  addAccessControl(v1, deps.core, admit);
  // Its own handler, so that access control also runs for unknown paths below /v1.
  v1.setNotFoundHandler(() => {
    throw pathNotFound();
  });
  addOperations(v1, deps);
  ticketRoutes(v1, deps);
}

/** The operations that programs and the dashboard share. */
function addOperations(app: HttpApp, deps: HttpDeps<VersionOneNeeds>): void {
  sandboxRoutes(app, deps);
  copyRoutes(app, deps);
  executionRoutes(app, deps);
  liveRoutes(app, deps);
  fileRoutes(app, deps);
  portRoutes(app, deps);
  snapshotRoutes(app, deps);
  statsRoutes(app, deps);
  terminalRoutes(app, deps);
  accountRoutes(app, deps);
}
