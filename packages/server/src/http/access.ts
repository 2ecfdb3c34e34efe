import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type FindKeyNeeds, findKeyOwner, keyHashIn, requireUsable } from '../core/accounts/authenticate.ts';
import type { Tickets } from '../core/accounts/tickets.ts';
import { ApiError } from '../core/errors/api-error.ts';
import type { Metrics } from '../core/ports/metrics.ts';
import type { AccountRecord } from '../core/ports/store/account-store.ts';
import type { FairTurns } from '../core/scheduling/fair-turns.ts';
import type { RateWindows, WindowState } from '../core/windows/rate-windows.ts';
import type { HttpApp } from './http-app.ts';

/** What counting requests in their rate windows needs. */
export interface CountNeeds {
  readonly windows: RateWindows;
  readonly metrics: Metrics;
}

/** What admitting requests needs. */
export interface AdmissionNeeds extends FindKeyNeeds, CountNeeds {
  readonly turns: { readonly requests: FairTurns };
  readonly tickets: Tickets;
}

/** Admits a request or throws the error to answer it with. */
export type AdmitRequest = (request: FastifyRequest, isCreate: boolean) => Promise<void>;

/** Checks a request that its source address may send, in this order: Host header, authentication, account window, creation window. */
export function requestAdmission(core: AdmissionNeeds): AdmitRequest {
  const keyHashOf = connectionKeyHashes();
  return async (request, isCreate) => {
    requireHost(request.raw);
    const owner = await findKeyOwner(core, redeemedKeyHash(core, request) ?? keyHashOf(request));
    const { account } = owner;
    request.logged.account_id = account.id;
    request.logged.key_id = owner.keyId;
    requireUsable(owner);
    request.account = account;
    await core.turns.requests.next(account.id);
    countAccount(core, account, request, isCreate);
  };
}

/** Checks every request below this prefix, and only then whether the path exists. A CORS preflight needs no key. */
export function addAccessControl(app: HttpApp, core: CountNeeds, admit: AdmitRequest): void {
  const createRoute = `${app.prefix}/sandboxes`;
  app.addHook('onRequest', async (request, reply) => {
    allowAnyOrigin(request, reply);
    countSource(core, request);
    if (isPreflight(request)) return answerPreflight(reply);
    await admit(request, request.method === 'POST' && request.routeOptions.url === createRoute);
    if (request.is404) throw pathNotFound();
    return undefined;
  });
}

/**
 * Returns the key hash of a request, and hashes again only when a connection sends another Authorization header. Hashing takes
 * 12 µs, about 4 % of a short request; see docs/decisions/http-fast-paths.md.
 */
function connectionKeyHashes(): (request: FastifyRequest) => string {
  const lastByConnection = new WeakMap<Socket, { readonly authorization: string | undefined; readonly hash: string }>();
  return ({ raw: { socket, headers } }) => {
    const { authorization } = headers;
    const last = lastByConnection.get(socket);
    if (last !== undefined && last.authorization === authorization) return last.hash;
    const hash = keyHashIn(authorization);
    lastByConnection.set(socket, { authorization, hash });
    return hash;
  };
}

/** Returns the hash of the key behind the ticket of a request without a key; undefined if there is none. Throws a 401 if the ticket is not valid. */
function redeemedKeyHash({ tickets }: AdmissionNeeds, request: FastifyRequest): string | undefined {
  if (request.raw.headers.authorization !== undefined || !request.routeOptions.config.acceptsTicket) return undefined;
  const { ticket } = request.query as { readonly ticket?: string | readonly string[] };
  if (ticket === undefined) return undefined;
  const keyHash = typeof ticket === 'string' ? tickets.redeem(ticket) : undefined;
  if (keyHash !== undefined) return keyHash;
  throw new ApiError(
    'invalid_api_key',
    'This ticket is unknown, has expired or was used already. Get another one with POST /v1/tickets.',
  );
}

/** The account that the request was authenticated as. */
export function accountOf(request: FastifyRequest): AccountRecord {
  if (request.account === undefined) throw new Error('this route was reached without authentication');
  return request.account;
}

/** The error for a method and path that no operation has. */
export function pathNotFound(): ApiError {
  return new ApiError('not_found', 'No operation has this method and path. See /docs for the API reference.');
}

/** The RateLimit headers that describe a window. */
export function windowHeaders({ limit, remaining, resetSeconds }: WindowState): Record<string, number> {
  return { 'ratelimit-limit': limit, 'ratelimit-remaining': remaining, 'ratelimit-reset': resetSeconds };
}

/** Counts a request in its source address's window, which the response shows unless an account's window replaces it. */
export function countSource(core: CountNeeds, request: FastifyRequest): void {
  const counted = core.windows.countSource(request.source);
  request.counted = counted;
  if (counted.exceeded) throw sourceLimitExceeded(core, counted);
}

/** Whether a URL is below /app/api, where every request needs a session. */
export function isDashboardApi(url: string): boolean {
  return /^\/app\/api(?:[/?#]|$)/.test(url);
}

/** Whether a URL is below /v1, where every request needs a key. */
export function isVersionOne(url: string): boolean {
  return /^\/v1(?:[/?#]|$)/.test(url);
}

/** Counts a request outside /v1. Returns the error to answer it with if its source address has sent too many. */
export function countPublic({ windows, metrics }: CountNeeds, request: FastifyRequest): ApiError | undefined {
  const counted = windows.countPublic(request.source);
  if (!counted.exceeded) return undefined;
  // Only a refusal shows the window: these routes are not part of the API that the RateLimit headers describe.
  request.counted = counted;
  metrics.rateLimited('public');
  return rateLimitExceeded(`${counted.limit} requests per minute outside /v1 from one address`);
}

/** The error for a request over the limit of its source address. */
export function sourceLimitExceeded(
  { metrics }: { readonly metrics: Metrics },
  { limit }: { limit: number },
): ApiError {
  metrics.rateLimited('source');
  return rateLimitExceeded(`${limit} requests per minute from one address`);
}

/** Counts a request in its account's window and, if it is a create, in the creation window too. */
function countAccount(core: CountNeeds, account: AccountRecord, request: FastifyRequest, isCreate: boolean): void {
  const counted = core.windows.countRequest(account);
  request.counted = counted;
  if (counted.exceeded) {
    core.metrics.rateLimited('requests');
    throw rateLimitExceeded(`${counted.limit} requests per minute for an account`);
  }
  if (isCreate) countCreations(core, request, 1);
}

/** Counts the sandboxes that the request creates in the account's creation window: all of them, or it throws. */
export function countCreations(core: CountNeeds, request: FastifyRequest, count: number): void {
  const creations = core.windows.countCreations(accountOf(request), count);
  if (!creations.exceeded) return;
  request.counted = creations;
  core.metrics.rateLimited('creations');
  throw rateLimitExceeded(`${creations.limit} sandbox creations per minute for an account`);
}

/** The error for a request over this limit. */
export function rateLimitExceeded(limit: string): ApiError {
  return new ApiError(
    'rate_limit_exceeded',
    `Rate limit exceeded: ${limit}. Wait for the number of seconds in Retry-After.`,
  );
}

const exposedHeaders = 'Location, X-Request-Id, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After';

/** Lets web pages of any origin read a response. This is safe because keys travel in a header, never in a cookie. */
export const anyOriginHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': exposedHeaders,
} as const;

/** Without an Origin no web page asks, and the long list of headers is left out. */
export function allowAnyOrigin({ headers }: FastifyRequest, reply: FastifyReply): void {
  if (headers.origin === undefined) reply.header('access-control-allow-origin', '*');
  else reply.headers(anyOriginHeaders);
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

function answerPreflight(reply: FastifyReply): FastifyReply {
  return reply
    .code(204)
    .header('access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE')
    .header('access-control-allow-headers', 'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Request-Id')
    .header('access-control-max-age', '86400')
    .send();
}

/** Refuses an HTTP/1.1 request without a Host header, as the standard demands, but with an error body. */
export function requireHost({ headers, httpVersion }: IncomingMessage): void {
  if (headers.host === undefined && httpVersion === '1.1') {
    throw new ApiError('request_error', 'The Host header is missing. HTTP/1.1 requires it.');
  }
}
