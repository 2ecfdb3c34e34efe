import { type AdminErrorBody, type AdminErrorType, adminErrorTable } from '@mayfly/contract/admin/errors.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AccountRefusal } from '../core/accounts/refusal.ts';

const isClientError = (error: unknown): error is Error =>
  error instanceof Error && 'statusCode' in error && Number(error.statusCode) >= 400 && Number(error.statusCode) < 500;

function describe(error: unknown): { readonly type: AdminErrorType; readonly message: string } {
  if (error instanceof AccountRefusal) return { type: error.type, message: error.message };
  if (isClientError(error)) return { type: 'invalid_request', message: error.message };
  return { type: 'internal_error', message: 'the service failed; its log has the reason' };
}

/** Answers a request that failed, with the one shape that errors have. */
export function sendAdminError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const shown = describe(error);
  if (shown.type === 'internal_error') request.log.error({ err: error }, 'admin_error');
  const body: AdminErrorBody = { error: shown };
  return reply.code(adminErrorTable[shown.type]).send(body);
}
