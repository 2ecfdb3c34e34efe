import type { FastifyReply } from 'fastify';
import type { Core } from '../core/context.ts';
import { ApiError } from '../core/errors/api-error.ts';
import type { AccountRecord } from '../core/ports/store/account-store.ts';
import type { WindowUse } from '../core/windows/fixed-window.ts';
import type { HttpApp } from './http-app.ts';

/** Where the caller stands, as response headers. */
export function windowHeaders({ limit, remaining, resetSeconds }: WindowUse): Record<string, number> {
  return { 'ratelimit-limit': limit, 'ratelimit-remaining': remaining, 'ratelimit-reset': resetSeconds };
}

/** Puts a window on the response, in place of one that was there. */
export function showWindow(reply: FastifyReply, use: WindowUse): void {
  reply.headers(windowHeaders(use));
}

/** Counts every request by its source address before anything else is looked at. */
export function addSourceWindow(app: HttpApp, core: Core): void {
  app.addHook('onRequest', (request, reply, done) => {
    const use = core.windows.countSource(request.ip);
    showWindow(reply, use);
    if (use.exceeded) core.metrics.rateLimited('source');
    done(use.exceeded ? tooMany(`${use.limit} requests per minute from one address`) : undefined);
  });
}

/** Counts a request of an account, and a create once more. */
export function countAccount(core: Core, account: AccountRecord, reply: FastifyReply, isCreate: boolean): void {
  const use = core.windows.countRequest(account);
  showWindow(reply, use);
  if (use.exceeded) {
    core.metrics.rateLimited('requests');
    throw tooMany(`${use.limit} requests per minute of an account`);
  }
  if (!isCreate) return;
  const creations = core.windows.countCreation(account);
  if (!creations.exceeded) return;
  showWindow(reply, creations);
  core.metrics.rateLimited('creations');
  throw tooMany(`${creations.limit} creations per minute of an account`);
}

function tooMany(limit: string): ApiError {
  return new ApiError('rate_limit_exceeded', `over the limit of ${limit}; wait for the seconds in Retry-After`);
}
