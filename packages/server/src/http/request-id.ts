import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { requestIdPattern } from '@mayfly/contract';

/** The caller's X-Request-Id if it is 1 to 128 visible ASCII characters, else a fresh one. */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && requestIdPattern.test(given) ? given : newRequestId();
}

/** Of this process alone, so that ids of different runs differ. */
const runPart = randomBytes(8).toString('hex');
let count = 0;

/** Unique, cheap, and secret to nobody. */
export function newRequestId(): string {
  count += 1;
  return `req_${runPart}${count.toString(36).padStart(7, '0')}`;
}
