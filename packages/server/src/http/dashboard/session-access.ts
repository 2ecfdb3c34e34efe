import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuditTrail } from '../../core/audit/audit-trail.ts';
import type { FairTurns } from '../../core/scheduling/fair-turns.ts';
import { type CurrentSession, requireSession, type SessionNeeds } from '../../core/sign-in/sessions.ts';
import { type CountNeeds, countCreations, pathNotFound, rateLimitExceeded, requireHost } from '../access.ts';
import type { HttpApp } from '../http-app.ts';
import { type OwnAddress, requireOwnOrigin } from './own-origin.ts';
import { readSessionCookie } from './session-cookie.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by session access; read it with `sessionOf`. */
    session: CurrentSession | undefined;
    /** The open request of a session; disposed of once it has ended. */
    sessionHold: Disposable | undefined;
  }
}

/** What admitting requests with a session needs. */
export interface SessionAccessNeeds extends SessionNeeds, CountNeeds {
  readonly turns: { readonly requests: FairTurns };
  readonly audit: AuditTrail;
}

const answerHeaders = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
} as const;

/** The session of a request. */
export function sessionOf(request: FastifyRequest): CurrentSession {
  if (request.session === undefined) throw new Error('this route was reached without a session');
  return request.session;
}

/**
 * Checks every request below this prefix, in this order: the Host header, its origin, the session, the account's window, the creation window; and only then
 * whether the path exists. An Authorization header is ignored.
 */
export function addSessionAccess(app: HttpApp, core: SessionAccessNeeds, address: OwnAddress): void {
  const createRoute = `${app.prefix}/sandboxes`;
  app.decorateRequest('session');
  app.decorateRequest('sessionHold');

  app.addHook('onRequest', async (request, reply) => {
    reply.headers(answerHeaders);
    requireHost(request.raw);
    const { operation, signedOut } = request.routeOptions.config;
    const isSocket = operation === 'openTerminal';
    const changes = isSocket || (request.method !== 'GET' && request.method !== 'HEAD');
    requireOwnOrigin(request, address, { changes });
    if (signedOut) return;
    await admit(core, request, readSessionCookie(request, address));
    holdUntilEnd(core, request, reply, isSocket);
    if (request.method === 'POST' && request.routeOptions.url === createRoute) countCreations(core, request, 1);
    if (request.is404) throw pathNotFound();
  });

  app.addHook('onSend', (request, reply, payload, done) => {
    noteInAuditTrail(core, request, reply);
    done(null, payload);
  });
}

async function admit(core: SessionAccessNeeds, request: FastifyRequest, token: string | undefined): Promise<void> {
  const current = await requireSession(core, token);
  const { account, session } = current;
  request.logged.account_id = account.id;
  request.logged.session_id = session.id;
  request.account = account;
  request.session = current;
  await core.turns.requests.next(account.id);
  const counted = core.windows.countSession(account);
  request.counted = counted;
  if (!counted.exceeded) return;
  core.metrics.rateLimited('sessions');
  throw rateLimitExceeded(`${counted.limit} requests per minute of the dashboard for an account`);
}

/** Cuts a request off when its session ends. A WebSocket outlives the response that it began with. */
function holdUntilEnd(
  { connections }: SessionAccessNeeds,
  request: FastifyRequest,
  reply: FastifyReply,
  isSocket: boolean,
): void {
  const { socket } = request.raw;
  const hold = connections.hold(sessionOf(request).held, () => socket.destroy());
  const release = () => {
    hold[Symbol.dispose]();
    socket.off('close', release);
  };
  request.sessionHold = { [Symbol.dispose]: release };
  socket.once('close', release);
  if (!isSocket) reply.raw.once('close', release);
}

/** Records a call that may have changed something, like one with a key. Attempts to sign in are recorded by themselves. */
function noteInAuditTrail({ audit }: SessionAccessNeeds, request: FastifyRequest, reply: FastifyReply): void {
  const { session: current, logged } = request;
  const { operation } = request.routeOptions.config;
  if (request.method === 'GET' || current === undefined || operation === undefined) return;
  if (logged.error_type === 'rate_limit_exceeded') return;
  const actor = { kind: 'session', sessionId: current.session.id, sourceAddress: request.source } as const;
  const target = logged.sandbox_id ?? logged.snapshot_id ?? logged.subject_id ?? null;
  const event = {
    actor,
    accountId: current.account.id,
    action: operation,
    target,
    details: null,
    requestId: request.id,
  };
  audit.note(event, { status: reply.statusCode, errorType: logged.error_type ?? null });
}
