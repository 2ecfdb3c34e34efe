import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Core } from '../core/context.ts';
import { ApiError } from '../core/errors/api-error.ts';
import type { AccountRecord } from '../core/ports/store/account-store.ts';
import type { WindowUse } from '../core/windows/fixed-window.ts';

/** Where the caller stands, as response headers. */
export function windowHeaders({ limit, remaining, resetSeconds }: WindowUse): Record<string, number> {
  return { 'ratelimit-limit': limit, 'ratelimit-remaining': remaining, 'ratelimit-reset': resetSeconds };
}

/** Puts a window on the response. */
export function showWindow(reply: FastifyReply, use: WindowUse): void {
  reply.headers(windowHeaders(use));
}

/** Counts a request by its source address; that window is shown if none of an account is. */
export function countSource(core: Core, request: FastifyRequest): void {
  const use = core.windows.countSource(request.ip);
  request.window = use;
  if (!use.exceeded) return;
  core.metrics.rateLimited('source');
  throw tooMany(`${use.limit} requests per minute from one address`);
}

/** Counts a request of an account, and a create once more. */
export function countAccount(core: Core, account: AccountRecord, request: FastifyRequest, isCreate: boolean): void {
  const use = core.windows.countRequest(account);
  request.window = use;
  if (use.exceeded) {
    core.metrics.rateLimited('requests');
    throw tooMany(`${use.limit} requests per minute of an account`);
  }
  if (!isCreate) return;
  const creations = core.windows.countCreation(account);
  if (!creations.exceeded) return;
  request.window = creations;
  core.metrics.rateLimited('creations');
  throw tooMany(`${creations.limit} creations per minute of an account`);
}

function tooMany(limit: string): ApiError {
  return new ApiError('rate_limit_exceeded', `over the limit of ${limit}; wait for the seconds in Retry-After`);
}
