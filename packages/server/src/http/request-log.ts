import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiError } from '../core/errors/api-error.ts';
import type { Log } from '../core/ports/runtime.ts';

/** Writes one line per request. It contains no keys, bodies or query strings. */
export interface RequestLog {
  /** A response was sent. */
  answered(request: FastifyRequest, reply: FastifyReply): void;
  /** A request was refused that no hook sees, so that the id in its response can be found. */
  refused(ids: object, error: ApiError): void;
  /** The service failed to serve a request. */
  failed(request: FastifyRequest, err: unknown): void;
}

/** Logs every request of an account that is not answered 429, and all others to the paced log, so that neither strangers nor an account beyond its limits can fill the disk. */
export function createRequestLog(log: FastifyBaseLogger, paced: Log): RequestLog {
  return {
    answered: (request, reply) => {
      if (!isRequestLogOn(log.level)) return;
      const isStranger = request.account === undefined || reply.statusCode === 429;
      (isStranger ? paced : log).info(lineOf(request, reply), 'request_answered');
    },
    refused: (ids, { status, type }) => paced.info({ ...ids, status, error_type: type }, 'request_refused'),
    failed: (request, err) => {
      (request.account === undefined ? paced : log).error({ request_id: request.id, err }, 'request_failed');
    },
  };
}

function lineOf(request: FastifyRequest, reply: FastifyReply): object {
  return {
    request_id: request.id,
    method: request.method,
    route: request.routeOptions.url ?? null,
    status: reply.statusCode,
    duration_ms: Math.round(reply.elapsedTime * 10) / 10,
    source: request.source,
    ...request.logged,
  };
}

function isRequestLogOn(level: string): boolean {
  return level === 'info' || level === 'debug' || level === 'trace';
}
