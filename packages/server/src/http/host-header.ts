import type { IncomingMessage } from 'node:http';
import { ApiError } from '../core/errors/api-error.ts';

/** Refuses what HTTP/1.1 says to refuse, a request without a Host header, with an error of the interface. */
export function requireHost({ headers, httpVersion }: IncomingMessage): void {
  if (headers.host === undefined && httpVersion === '1.1') {
    throw new ApiError('request_error', 'the Host header is missing');
  }
}
