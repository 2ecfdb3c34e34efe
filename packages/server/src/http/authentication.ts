import type { FastifyRequest } from 'fastify';
import type { AccountRecord } from '../core/ports/store/account-store.ts';

/** The account that the request was authenticated as. */
export function accountOf(request: FastifyRequest): AccountRecord {
  if (request.account === undefined) throw new Error('this route was reached without authentication');
  return request.account;
}
