import type { FastifyReply, FastifyRequest } from 'fastify';

/** One line per request, with what it was about as fields. Neither keys nor bodies nor queries are in it. */
export function logAnswer(request: FastifyRequest, reply: FastifyReply, route: string | undefined): void {
  request.log.info(
    {
      request_id: request.id,
      method: request.method,
      route: route ?? null,
      status: reply.statusCode,
      duration_ms: Math.round(reply.elapsedTime * 10) / 10,
      account_id: request.account?.id,
      ...request.logged,
    },
    'request',
  );
}

/** Whether such lines are written at all. */
export function areAnswersLogged(level: string): boolean {
  return level === 'info' || level === 'debug' || level === 'trace';
}
