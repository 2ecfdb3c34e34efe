import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { requestIdPattern } from '@mayfly/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuditTrail } from '../core/audit/audit-trail.ts';
import { forwardingChain, trustedProxies } from '../core/windows/source-address.ts';
import { type CountNeeds, countPublic, isVersionOne, windowHeaders } from './access.ts';
import { defaultBodyPace, watchBody } from './bodies/slow-body.ts';
import type { HttpApp, HttpDeps } from './http-app.ts';
import type { RequestLog } from './request-log.ts';

/** What every request needs. */
export interface HookNeeds extends CountNeeds {
  readonly audit: AuditTrail;
}

/** Adds what applies to every request. One hook per lifecycle event, because each hook costs time on every request. */
export function addHooks(
  app: HttpApp,
  deps: HttpDeps<HookNeeds>,
  sourceOf: SourceReader,
  requestLog: RequestLog,
): void {
  const { core, readiness, bodyPace } = deps;
  app.decorateRequest('source', '');
  app.decorateRequest('account');
  app.decorateRequest('logged');
  app.decorateRequest('counted');
  app.decorateRequest('response');
  app.decorateRequest('watchedBody');

  app.addHook('onRequest', (request, reply, done) => {
    prepareRequest(request, reply, { sourceOf, bodyPace });
    dropContentType(request.raw);
    // Access control counts the others, before it looks at their keys.
    done(isVersionOne(request.url) ? undefined : countPublic(core, request));
  });

  app.addHook('onSend', (request, reply, payload, done) => {
    noteInAuditTrail(core, request, reply);
    reply.header('x-request-id', request.id);
    if (request.counted !== undefined) reply.headers(windowHeaders(request.counted.current()));
    keepConnectionAfterRefusal(reply);
    if (readiness() === 'stopping' || reply.statusCode === 408) reply.header('connection', 'close');
    done(null, payload);
  });

  app.addHook('onResponse', (request, reply, done) => {
    // Counted by route pattern: counting by path would let callers create any number of time series.
    core.metrics.requestAnswered(request.method, request.routeOptions.url ?? 'none', reply.statusCode);
    requestLog.answered(request, reply);
    done();
  });
}

/**
 * Records a call that may have changed something. Calls that access control refused are in the request log only: recording them would let
 * unauthenticated callers fill the database.
 */
function noteInAuditTrail({ audit }: HookNeeds, request: FastifyRequest, reply: FastifyReply): void {
  const { account } = request;
  if (request.method === 'GET' || account === undefined) return;
  const { key_id: keyId, error_type: errorType, sandbox_id: sandboxId, snapshot_id: snapshotId } = request.logged;
  const { operation } = request.routeOptions.config;
  if (keyId === undefined || operation === undefined || errorType === 'rate_limit_exceeded') return;
  audit.note(
    {
      actor: { kind: 'api_key', keyId, sourceAddress: request.source },
      accountId: account.id,
      action: operation,
      target: sandboxId ?? snapshotId ?? null,
      details: null,
      requestId: request.id,
    },
    { status: reply.statusCode, errorType: errorType ?? null },
  );
}

type SourceReader = (request: Pick<FastifyRequest, 'socket' | 'headers'>) => string;

/** Sets the fields of a request that everything else relies on. */
export function prepareRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  {
    sourceOf,
    bodyPace = defaultBodyPace,
  }: { readonly sourceOf: SourceReader; readonly bodyPace?: HttpDeps['bodyPace'] },
): void {
  request.logged = {};
  request.source = sourceOf(request);
  request.response = reply.raw;
  request.watchedBody = watchBody(request.raw, reply.raw, bodyPace);
}

/** Reads the source address of requests. Fastify's own `request.ip` may be any text that a client wrote. */
export function sourceReader(trustProxy: boolean | string): SourceReader {
  const trusts = trustedProxies(trustProxy);
  return ({ socket, headers }) =>
    forwardingChain(socket.remoteAddress ?? '', headers['x-forwarded-for'], trusts).at(-1) ?? '';
}

/** Every body is parsed as JSON, but Fastify refuses a Content-Type that it does not know. */
function dropContentType({ headers }: IncomingMessage): void {
  if (headers['content-type'] !== undefined) delete headers['content-type'];
}

/** Fastify closes the connection after refusing a body, and a client that is still sending could lose the response with it. */
function keepConnectionAfterRefusal(reply: FastifyReply): void {
  if (reply.statusCode === 413 || reply.statusCode === 400) reply.removeHeader('connection');
}

/** The caller's X-Request-Id if it is 1 to 128 visible ASCII characters, otherwise a new id. */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && requestIdPattern.test(given) ? given : newRequestId();
}

/** Random per process, so that ids stay unique across restarts. */
const processPart = randomBytes(8).toString('hex');
let count = 0;

/** A unique id. It is not a secret: a counter is enough. */
export function newRequestId(): string {
  count += 1;
  return `req_${processPart}${count.toString(36).padStart(7, '0')}`;
}
