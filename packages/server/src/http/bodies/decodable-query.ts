import type { FastifyRequest } from 'fastify';
import { ApiError } from '../../core/errors/api-error.ts';

/** Refuses a query whose percent signs stand for no UTF-8: the framework would take them for themselves. */
export async function refuseUndecodableQuery({ url }: FastifyRequest): Promise<void> {
  const start = url.indexOf('?');
  if (start === -1) return;
  try {
    decodeURIComponent(url.slice(start));
  } catch (cause) {
    throw new ApiError('request_error', 'the query of the URL cannot be decoded', { cause });
  }
}
