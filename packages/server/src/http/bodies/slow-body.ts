import type { Server } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DeadlineExceeded } from '../../core/scheduling/deadline.ts';

/** How slowly a caller may send a body. */
export interface BodyPace {
  /** The longest pause in which no byte arrives. */
  readonly stallMs: number;
  /** What a body may take regardless of its size. */
  readonly graceMs: number;
  /** Every received byte extends the time by this rate: a slow line is fine, a trickle that only holds the connection is not. */
  readonly leastBytesPerSecond: number;
  readonly checkMs: number;
}

export const defaultBodyPace: BodyPace = { stallMs: 30_000, graceMs: 60_000, leastBytesPerSecond: 500, checkMs: 5_000 };

/** Whether a body is too slow to be waited for any longer. Pure. */
export function isTooSlow(
  { elapsedMs, silentMs, receivedBytes }: { elapsedMs: number; silentMs: number; receivedBytes: number },
  { stallMs, graceMs, leastBytesPerSecond }: BodyPace,
): boolean {
  return silentMs >= stallMs || elapsedMs > graceMs + (receivedBytes / leastBytesPerSecond) * 1_000;
}

/**
 * Answers a request whose body arrives too slowly with 408 and closes its connection. There is no limit on the whole body: an upload over a
 * slow line may take its time while it makes progress. After the response was sent, the rest of a body gets the grace and no more.
 */
export function watchBody(
  server: Server,
  { raw }: FastifyRequest,
  { raw: response }: FastifyReply,
  pace: BodyPace,
): void {
  const { headers, socket } = raw;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (!hasBody || raw.complete) return;
  const startMs = performance.now();
  const startBytes = socket.bytesRead;
  let seenBytes = startBytes;
  let seenAtMs = startMs;
  const check = () => {
    const nowMs = performance.now();
    if (socket.bytesRead !== seenBytes) [seenBytes, seenAtMs] = [socket.bytesRead, nowMs];
    const receivedBytes = response.headersSent ? 0 : seenBytes - startBytes;
    if (!isTooSlow({ elapsedMs: nowMs - startMs, silentMs: nowMs - seenAtMs, receivedBytes }, pace)) return;
    if (response.headersSent || !socket.writable) socket.destroy();
    else server.emit('clientError', requestTimeout(nowMs - startMs), socket);
  };
  const timer = setInterval(check, pace.checkMs).unref();
  const stop = () => clearInterval(timer);
  raw.once('end', stop).once('close', stop);
}

/** The error that Node itself reports for a request that takes too long. */
function requestTimeout(elapsedMs: number): Error {
  return Object.assign(new DeadlineExceeded('the request', Math.round(elapsedMs)), {
    code: 'ERR_HTTP_REQUEST_TIMEOUT',
  });
}
