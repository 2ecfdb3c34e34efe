import type { IncomingMessage, ServerResponse } from 'node:http';

/** How slowly a caller may send a body. */
export interface BodyPace {
  /** The longest pause in which no byte arrives. */
  readonly stallMs: number;
  /** How long any body may take, whatever its size. */
  readonly graceMs: number;
  /** Later, what arrives in this time decides: what arrived before earns no time. */
  readonly windowMs: number;
  /** A slow line is fine, a trickle that only holds the connection is not. */
  readonly minBytesPerSecond: number;
  /** A larger body must arrive as fast as it takes to be complete in this time: until then it holds memory. */
  readonly longestMs: number;
  readonly checkMs: number;
}

export const defaultBodyPace: BodyPace = {
  stallMs: 30_000,
  graceMs: 60_000,
  windowMs: 30_000,
  minBytesPerSecond: 500,
  longestMs: 3_600_000,
  checkMs: 5_000,
};

/** What is known of a body that is arriving. */
export interface BodyProgress {
  readonly elapsedMs: number;
  /** Since the last byte arrived. */
  readonly silentMs: number;
  /** What arrived in the last `windowMs`. */
  readonly windowBytes: number;
  /** The declared size, or what has arrived if that is unknown. */
  readonly sizeBytes: number;
  readonly isAnswered: boolean;
}

/** Whether a body is too slow to be waited for any longer. Pure. */
export function isTooSlow(progress: BodyProgress, pace: BodyPace): boolean {
  if (progress.silentMs >= pace.stallMs) return true;
  if (progress.elapsedMs <= pace.graceMs) return false;
  const bytesPerSecond = Math.max(pace.minBytesPerSecond, progress.sizeBytes / (pace.longestMs / 1_000));
  return progress.isAnswered || progress.windowBytes < (bytesPerSecond * pace.windowMs) / 1_000;
}

/** A body that is being watched. */
export interface WatchedBody {
  /** While the service itself does not read the body, it is not judged. */
  pause(): void;
  resume(): void;
}

/**
 * Fails the reading of a body that arrives too slowly, so that the request is answered with 408, and then closes the connection. An upload over a slow
 * line may take its time while it makes progress. Once the response is sent, the rest of the body must arrive within `graceMs` of the request. Undefined
 * if there is no body to wait for.
 */
export function watchBody(raw: IncomingMessage, response: ServerResponse, pace: BodyPace): WatchedBody | undefined {
  const { headers, socket } = raw;
  const declaredBytes = Number(headers['content-length'] ?? 0);
  const hasBody = headers['transfer-encoding'] !== undefined || declaredBytes > 0;
  if (!hasBody || raw.complete) return undefined;
  const startMs = performance.now();
  const startBytes = socket.bytesRead;
  const arrivals = new Arrivals(pace.windowMs, startMs, startBytes);
  let isPaused = false;
  let hasFailed = false;
  const check = () => {
    if (isPaused) return;
    const nowMs = performance.now();
    arrivals.note(nowMs, socket.bytesRead);
    const progress: BodyProgress = {
      elapsedMs: nowMs - startMs,
      silentMs: nowMs - arrivals.lastAtMs,
      windowBytes: arrivals.windowBytes,
      sizeBytes: Math.max(declaredBytes, socket.bytesRead - startBytes),
      isAnswered: response.headersSent,
    };
    if (!isTooSlow(progress, pace)) return;
    // Nobody reads the body of a request that was answered already.
    if (hasFailed || response.headersSent || raw.listenerCount('error') === 0) {
      stop();
      raw.destroy();
    } else {
      hasFailed = true;
      raw.emit('error', new SlowBody());
    }
  };
  const timer = setInterval(check, pace.checkMs).unref();
  const stop = () => clearInterval(timer);
  raw.once('end', stop).once('close', stop);
  return {
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
      arrivals.restart(performance.now(), socket.bytesRead);
    },
  };
}

/** What has arrived on a connection during the last while. */
class Arrivals {
  readonly #windowMs: number;
  /** Totals at the times of the checks; the first one is the newest that is older than the window, or the start. */
  #samples: { readonly atMs: number; readonly bytes: number }[] = [];
  #lastBytes = 0;
  lastAtMs = 0;

  constructor(windowMs: number, nowMs: number, bytes: number) {
    this.#windowMs = windowMs;
    this.restart(nowMs, bytes);
  }

  restart(nowMs: number, bytes: number): void {
    this.#samples = [{ atMs: nowMs, bytes }];
    this.#lastBytes = bytes;
    this.lastAtMs = nowMs;
  }

  note(nowMs: number, bytes: number): void {
    if (bytes !== this.#lastBytes) [this.#lastBytes, this.lastAtMs] = [bytes, nowMs];
    this.#samples.push({ atMs: nowMs, bytes });
    while ((this.#samples[1]?.atMs ?? Number.POSITIVE_INFINITY) <= nowMs - this.#windowMs) this.#samples.shift();
  }

  /** What has arrived in the last window; unlimited while less time than that has passed. */
  get windowBytes(): number {
    const [first, ...later] = this.#samples;
    const newest = later.at(-1);
    if (first === undefined || newest === undefined || newest.atMs - first.atMs < this.#windowMs) {
      return Number.POSITIVE_INFINITY;
    }
    return newest.bytes - first.bytes;
  }
}

/** A body that arrived too slowly. */
export class SlowBody extends Error {}
