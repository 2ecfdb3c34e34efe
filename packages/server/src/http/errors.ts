import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorBody } from '@mayfly/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Core } from '../core/context.ts';
import { ApiError } from '../core/errors/api-error.ts';
import { windowHeaders } from './rate-limits.ts';
import { newRequestId } from './request-id.ts';

/** The error that a caller sees for anything that was thrown. */
export function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const status = statusOf(error);
  if (error instanceof Error && status >= 400 && status < 500) {
    return new ApiError('request_error', error.message, { status, cause: error });
  }
  return new ApiError('internal_error', 'the service failed; its operator finds the reason under the request id', {
    cause: error,
  });
}

/** The status a framework error carries; 0 for anything else. */
function statusOf(error: unknown): number {
  const carries = error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number';
  return carries ? Number(error.statusCode) : 0;
}

function bodyOf(error: ApiError, requestId: string): ErrorBody {
  return { error: { type: error.type, message: error.message }, request_id: requestId };
}

/** Answers a request that failed, with the one shape that errors have. */
export function sendError(
  { metrics }: Pick<Core, 'metrics'>,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const shown = apiErrorOf(error);
  metrics.errorAnswered(shown.type);
  if (shown.type === 'internal_error') request.log.error({ request_id: request.id, err: error }, 'internal_error');
  if (request.logged !== undefined) request.logged.error_type = shown.type;
  if (shown.status === 429) reply.header('retry-after', request.window?.resetSeconds ?? 60);
  return reply.code(shown.status).header('x-request-id', request.id).send(bodyOf(shown, request.id));
}

const parserStatuses: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

/** Answers what never became a request: bytes that are no HTTP, headers too large, a request that never ended. */
export function answerClientError(
  { windows, metrics }: Pick<Core, 'windows' | 'metrics'>,
  error: NodeJS.ErrnoException,
  socket: Socket,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = parserStatuses[error.code ?? ''] ?? 400;
  const requestId = newRequestId();
  metrics.errorAnswered('request_error');
  const body = JSON.stringify(
    bodyOf(new ApiError('request_error', 'the request cannot be read', { status }), requestId),
  );
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Bad Request'}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    ...Object.entries(windowHeaders(windows.countSource(socket.remoteAddress ?? ''))).map(
      ([name, value]) => `${name}: ${value}`,
    ),
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
