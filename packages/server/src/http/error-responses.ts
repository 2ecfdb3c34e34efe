import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorBody } from '@mayfly/contract';
import type { DashboardErrorBody } from '@mayfly/contract/dashboard';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../core/errors/api-error.ts';
import { DashboardError } from '../core/errors/dashboard-error.ts';
import type { Metrics } from '../core/ports/metrics.ts';
import type { RateWindows } from '../core/windows/rate-windows.ts';
import {
  type AdmitRequest,
  allowAnyOrigin,
  anyOriginHeaders,
  type CountNeeds,
  countSource,
  isDashboardApi,
  isVersionOne,
  sourceLimitExceeded,
  windowHeaders,
} from './access.ts';
import { newRequestId } from './hooks.ts';
import type { RequestLog } from './request-log.ts';

/** The largest request line with headers. */
export const maxHeaderBytes = 16_384;

/** What learns of errors. */
interface ErrorReports {
  readonly metrics: Metrics;
  readonly requestLog: RequestLog;
}

/** Answers a request that failed, in the one shape that every error has. */
export function sendError(
  { metrics, requestLog }: ErrorReports,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const shown = error instanceof DashboardError ? error : apiErrorOf(error);
  metrics.errorAnswered(shown.type);
  if (shown.type === 'internal_error') requestLog.failed(request, error);
  if (request.logged !== undefined) request.logged.error_type = shown.type;
  if (shown.status === 429) reply.header('retry-after', request.counted?.current().resetSeconds ?? 60);
  return reply.code(shown.status).header('x-request-id', request.id).send(bodyOf(shown, request.id));
}

/**
 * Answers a request whose URL Fastify refused before any hook ran. It is counted and limited like all requests, and below /v1 it needs a key
 * like all paths.
 */
export async function answerRefusedUrl(
  {
    core,
    admit,
    requestLog,
  }: { readonly core: CountNeeds; readonly admit: AdmitRequest; readonly requestLog: RequestLog },
  refusal: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  if (!isDashboardApi(request.url)) allowAnyOrigin(request, reply);
  let shown = refusal;
  try {
    countSource(core, request);
    if (isVersionOne(request.url)) await admit(request, false);
  } catch (error) {
    shown = error;
  }
  if (request.counted !== undefined) reply.headers(windowHeaders(request.counted.current()));
  sendError({ metrics: core.metrics, requestLog }, shown, request, reply);
  const { key_id } = request.logged;
  const ids = { request_id: request.id, account_id: request.account?.id, key_id, source: request.source };
  requestLog.refused(ids, apiErrorOf(shown));
}

/** The error that a caller sees for anything thrown. */
export function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (isFrameworkRefusal(error)) {
    const message = frameworkMessages[error.code ?? ''] ?? error.message;
    return new ApiError('request_error', message, { status: error.statusCode, cause: error });
  }
  return new ApiError(
    'internal_error',
    'The service failed unexpectedly. Retry with backoff. If it keeps failing, give the request id to the operator.',
    { cause: error },
  );
}

/** Messages for Fastify's own refusals, by error code. */
const frameworkMessages: Readonly<Record<string, string>> = {
  FST_ERR_BAD_URL: 'The URL cannot be decoded. Percent-encode it as UTF-8.',
  FST_ERR_MAX_PARAM_LENGTH: 'The URL is too long.',
};

/** Whether Fastify refused the request: its errors carry a 4xx status. */
function isFrameworkRefusal(error: unknown): error is Error & { readonly statusCode: number; readonly code?: string } {
  if (!(error instanceof Error) || !('statusCode' in error) || typeof error.statusCode !== 'number') return false;
  return error.statusCode >= 400 && error.statusCode < 500;
}

function bodyOf(error: ApiError | DashboardError, requestId: string): ErrorBody | DashboardErrorBody {
  return { error: { type: error.type, message: error.message }, request_id: requestId };
}

/** The answers to errors of Node's HTTP parser, by error code. */
const parserAnswers: Readonly<Record<string, readonly [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [
    431,
    `The URL and headers are larger than ${maxHeaderBytes} bytes. Send fewer or shorter headers.`,
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time. Send it again.'],
};
/** How long a client may take to read the last response on a connection. */
const closeDelayMs = 5_000;
const malformedAnswer = [400, 'The request is not valid HTTP/1.1.'] as const;

/** Answers a request that never reached a handler: malformed HTTP, headers too large, or a request that did not arrive in time. */
export function answerClientError(
  { windows, metrics, requestLog }: ErrorReports & { readonly windows: RateWindows },
  error: NodeJS.ErrnoException,
  socket: Socket,
): void {
  // A failed TLS handshake is no request, and nothing can be written to it.
  const isHandshake = /^ERR_(?:SSL|TLS)_/.test(error.code ?? '');
  if (isHandshake || error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const counted = windows.countSource(socket.remoteAddress ?? '');
  const [status, message] = parserAnswers[error.code ?? ''] ?? malformedAnswer;
  const shown = counted.exceeded
    ? sourceLimitExceeded({ metrics }, counted)
    : new ApiError('request_error', message, { status });
  metrics.errorAnswered(shown.type);
  const requestId = newRequestId();
  requestLog.refused({ request_id: requestId, source: socket.remoteAddress }, shown);
  const window = counted.current();
  const body = JSON.stringify(bodyOf(shown, requestId));
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'x-request-id': requestId,
    ...anyOriginHeaders,
    ...windowHeaders(window),
    ...(shown.status === 429 && { 'retry-after': window.resetSeconds }),
    connection: 'close',
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${shown.status} ${STATUS_CODES[shown.status]}\r\n${head.join('')}\r\n${body}`);
  // Destroying it at once could lose the response; waiting for the client to close it could take forever.
  setTimeout(() => socket.destroy(), closeDelayMs).unref();
}
