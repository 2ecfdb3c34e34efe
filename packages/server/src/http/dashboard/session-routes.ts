import {
  type DeletedSessions,
  dashboardOperations,
  type Session,
  type SessionList,
  type SessionSummary,
} from '@mayfly/contract/dashboard';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SessionRecord } from '../../core/ports/store/sign-in-store.ts';
import { setPassword } from '../../core/sign-in/credentials.ts';
import { expiryOf, maySetPassword } from '../../core/sign-in/session-life.ts';
import {
  type BegunSession,
  type CurrentSession,
  endSession,
  listSessions,
  requireSession,
  revokeOtherSessions,
  revokeSession,
} from '../../core/sign-in/sessions.ts';
import { type SignInNeeds, type SignInRequest, signIn, signInWithLink } from '../../core/sign-in/sign-in.ts';
import { routeOf } from '../contract-routes.ts';
import type { HttpApp } from '../http-app.ts';
import { isoTime } from '../views.ts';
import type { OwnAddress } from './own-origin.ts';
import { sessionOf } from './session-access.ts';
import { clearSessionCookie, readSessionCookie, setSessionCookie } from './session-cookie.ts';

/** /session, /sessions and /password: who is signed in, and how. */
export function sessionRoutes(app: HttpApp, core: SignInNeeds, address: OwnAddress): void {
  const { clock } = core;

  app.route({
    ...routeOf(dashboardOperations.getSession),
    handler: async (request): Promise<Session> => sessionView(sessionOf(request), clock.nowMs()),
  });

  app.route({
    ...routeOf(dashboardOperations.signIn),
    handler: async (request, reply) => {
      const { email, password, code } = request.body;
      const begun = await signIn(core, { email, password, code: code ?? undefined }, signInRequest(request));
      return await started(request, reply, begun);
    },
  });

  app.route({
    ...routeOf(dashboardOperations.signInWithLink),
    handler: async (request, reply) =>
      await started(request, reply, await signInWithLink(core, request.body.token, signInRequest(request))),
  });

  app.route({
    ...routeOf(dashboardOperations.signOut),
    handler: async (request, reply) => {
      request.sessionHold?.[Symbol.dispose]();
      await endSession(core, sessionOf(request).held);
      clearSessionCookie(reply, address);
      return { object: 'session' as const, deleted: true as const };
    },
  });

  app.route({
    ...routeOf(dashboardOperations.listSessions),
    handler: async (request): Promise<SessionList> => {
      const current = sessionOf(request);
      const sessions = await listSessions(core, current);
      return { object: 'list', data: sessions.map((session) => summaryView(session, current)) };
    },
  });

  app.route({
    ...routeOf(dashboardOperations.deleteSession),
    handler: async (request, reply): Promise<DeletedSessions> => {
      const current = sessionOf(request);
      const { id } = request.params;
      request.logged.subject_id = id;
      const isCurrent = id === current.session.id;
      if (isCurrent) request.sessionHold?.[Symbol.dispose]();
      await revokeSession(core, current, id);
      if (isCurrent) clearSessionCookie(reply, address);
      return { object: 'deleted_sessions', deleted: 1 };
    },
  });

  app.route({
    ...routeOf(dashboardOperations.deleteOtherSessions),
    handler: async (request): Promise<DeletedSessions> => ({
      object: 'deleted_sessions',
      deleted: await revokeOtherSessions(core, sessionOf(request)),
    }),
  });

  app.route({
    ...routeOf(dashboardOperations.setPassword),
    handler: async (request): Promise<Session> => {
      const { current_password: current, new_password: wanted } = request.body;
      const passwords = { current: current ?? undefined, wanted };
      const changed = await setPassword(core, sessionOf(request), passwords, request.source);
      return sessionView(changed, clock.nowMs());
    },
  });

  /** Answers a sign-in. The session that the browser had before ends, so that nobody else can be holding it. */
  async function started(request: FastifyRequest, reply: FastifyReply, begun: BegunSession): Promise<Session> {
    const { current, token } = begun;
    const former = await requireSession(core, readSessionCookie(request, address)).catch(() => undefined);
    if (former !== undefined) await endSession(core, former.held);
    request.logged.account_id = current.account.id;
    request.logged.session_id = current.session.id;
    setSessionCookie(reply.code(201), address, token);
    return sessionView(current, clock.nowMs());
  }
}

function signInRequest({ source, headers, id }: FastifyRequest): SignInRequest {
  return { sourceAddress: source, userAgent: headers['user-agent'], requestId: id };
}

function sessionView({ session, account, hasPassword, hasTwoFactor }: CurrentSession, nowMs: number): Session {
  return {
    object: 'session',
    account: { id: account.id, email: account.email },
    created_at: isoTime(session.createdAtMs),
    expires_at: isoTime(expiryOf(session)),
    has_password: hasPassword,
    two_factor: hasTwoFactor,
    may_set_password: maySetPassword(session, hasPassword, nowMs),
  };
}

function summaryView(session: SessionRecord, current: CurrentSession): SessionSummary {
  return {
    object: 'session_summary',
    id: session.id,
    current: session.id === current.session.id,
    created_at: isoTime(session.createdAtMs),
    last_used_at: isoTime(session.lastUsedAtMs),
    source_address: session.sourceAddress,
    user_agent: session.userAgent,
  };
}
