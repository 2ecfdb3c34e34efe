import type { FastifyReply, FastifyRequest } from 'fastify';

/** How slowly a caller may send a body. */
export interface BodyPace {
  /** The longest pause in which no byte arrives. */
  readonly stallMs: number;
  /** How long any body may take, whatever its size. */
  readonly graceMs: number;
  /** Every received byte extends the time by this rate: a slow line is fine, a trickle that only holds the connection is not. */
  readonly minBytesPerSecond: number;
  readonly checkMs: number;
}

export const defaultBodyPace: BodyPace = { stallMs: 30_000, graceMs: 60_000, minBytesPerSecond: 500, checkMs: 5_000 };

/** Whether a body is too slow to be waited for any longer. Pure. */
export function isTooSlow(
  { elapsedMs, silentMs, receivedBytes }: { elapsedMs: number; silentMs: number; receivedBytes: number },
  { stallMs, graceMs, minBytesPerSecond }: BodyPace,
): boolean {
  return silentMs >= stallMs || elapsedMs > graceMs + (receivedBytes / minBytesPerSecond) * 1_000;
}

/**
 * Fails the reading of a body that arrives too slowly, so that the request is answered with 408, and then closes the connection. There is no limit on
 * the whole body: an upload over a slow line may take its time while it makes progress. Once the response is sent, the rest of the body must arrive
 * within `graceMs` of the request.
 */
export function watchBody({ raw }: FastifyRequest, { raw: response }: FastifyReply, pace: BodyPace): void {
  const { headers, socket } = raw;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (!hasBody || raw.complete) return;
  const startMs = performance.now();
  const startBytes = socket.bytesRead;
  let seenBytes = startBytes;
  let seenAtMs = startMs;
  let hasFailed = false;
  const check = () => {
    const nowMs = performance.now();
    if (socket.bytesRead !== seenBytes) [seenBytes, seenAtMs] = [socket.bytesRead, nowMs];
    const receivedBytes = response.headersSent ? 0 : seenBytes - startBytes;
    if (!isTooSlow({ elapsedMs: nowMs - startMs, silentMs: nowMs - seenAtMs, receivedBytes }, pace)) return;
    // Nobody reads the body of a request that was answered already.
    if (hasFailed || response.headersSent || raw.listenerCount('error') === 0) socket.destroy();
    else raw.emit('error', new SlowBody());
    hasFailed = true;
  };
  const timer = setInterval(check, pace.checkMs).unref();
  const stop = () => clearInterval(timer);
  raw.once('end', stop).once('close', stop);
}

/** A body that arrived too slowly. */
export class SlowBody extends Error {}
