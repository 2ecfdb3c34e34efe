import type { FastifyRequest } from 'fastify';
import { authenticate } from '../core/accounts/authenticate.ts';
import type { Core } from '../core/context.ts';
import { notFound } from '../core/errors/api-error.ts';
import type { AccountRecord } from '../core/ports/store/account-store.ts';
import type { HttpApp } from './http-app.ts';
import { countAccount } from './rate-limits.ts';

/** From here on every request needs a key and counts for its account; only then is an unknown path told from a known one. */
export function addAuthentication(app: HttpApp, core: Core): void {
  const createRoute = `${app.prefix}/sandboxes`;
  app.addHook('onRequest', async (request, reply) => {
    const account = await authenticate(core, request.headers.authorization);
    request.account = account;
    const isCreate = request.method === 'POST' && request.routeOptions.url === createRoute;
    countAccount(core, account, reply, isCreate);
    if (request.is404) throw notFound('path');
  });
}

/** The account that the request was authenticated as. */
export function accountOf(request: FastifyRequest): AccountRecord {
  if (request.account === undefined) throw new Error('this route was reached without authentication');
  return request.account;
}
