import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TooManyAttempts } from '../../core/sign-in/attempts.ts';
import type { SignInNeeds } from '../../core/sign-in/sign-in.ts';
import { pathNotFound } from '../access.ts';
import { type ReadBodyNeeds, readJsonBody, readSmallJsonBody } from '../bodies/json-body.ts';
import type { HttpApp, HttpDeps } from '../http-app.ts';
import { type ChangeRouteNeeds, changeRoutes } from './change-routes.ts';
import { type KeyRouteNeeds, keyRoutes } from './key-routes.ts';
import type { OwnAddress } from './own-origin.ts';
import { addSessionAccess, type SessionAccessNeeds } from './session-access.ts';
import { sessionRoutes } from './session-routes.ts';
import { type TerminalListNeeds, terminalListRoutes } from './terminal-routes.ts';
import { twoFactorRoutes } from './two-factor-routes.ts';
import { type UsageRouteNeeds, usageRoutes } from './usage-routes.ts';

/** What /app/api needs besides the operations of /v1. */
export type DashboardApiNeeds = SessionAccessNeeds &
  SignInNeeds &
  KeyRouteNeeds &
  ChangeRouteNeeds &
  TerminalListNeeds &
  UsageRouteNeeds &
  ReadBodyNeeds & { readonly limits: { readonly bodyBytes: number } };

type SendError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply;

/** The dashboard's own API, for browsers with a session: what only the dashboard has, and the operations that `mount` adds. */
export function addDashboardApi(
  app: HttpApp,
  deps: HttpDeps<DashboardApiNeeds>,
  { mount, sendError }: { readonly mount: (app: HttpApp) => void; readonly sendError: SendError },
): void {
  const { core, tls, publicUrl } = deps;
  const address: OwnAddress = { isTls: tls !== undefined, publicUrl };
  addSessionAccess(app, core, address);
  // Its own handler, so that session access also runs for unknown paths below /app/api.
  app.setNotFoundHandler(() => {
    throw pathNotFound();
  });
  app.setErrorHandler((error, request, reply) => {
    if (error instanceof TooManyAttempts) request.counted = error.counted;
    return sendError(error, request, reply);
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) =>
    request.routeOptions.config.signedOut
      ? readSmallJsonBody(payload, request.headers)
      : readJsonBody(core, request, payload, core.limits.bodyBytes),
  );
  sessionRoutes(app, core, address);
  twoFactorRoutes(app, core);
  keyRoutes(app, core);
  changeRoutes(app, core);
  terminalListRoutes(app, core);
  usageRoutes(app, core);
  mount(app);
}
