import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** How slowly a client may read before it is disconnected. */
export interface ReadingLimits {
  /** A connection that accepts no byte for this long is cut. The default is nginx's (send_timeout). */
  readonly stallMs: number;
  /** A connection that accepts less than this over a whole `averageMs` is cut. Progress shows only when a whole piece was accepted, so it must be a few times a piece per `stallMs`. */
  readonly minBytesPerSecond: number;
  readonly averageMs: number;
}

export const defaultReadingLimits: ReadingLimits = {
  stallMs: 60_000,
  minBytesPerSecond: 4_096,
  averageMs: 300_000,
};

/** A moment of a connection that has bytes to send. */
interface Reading {
  /** All bytes that the connection's send buffer has accepted. */
  readonly acceptedBytes: number;
  readonly atMs: number;
}

/** The observed progress of a connection for as long as it has bytes to send. */
export interface Progress {
  /** When the connection last accepted something. */
  readonly moved: Reading;
  /** The beginning of the period over which the average is taken. */
  readonly since: Reading;
}

/** The progress after another look at the connection, or `cut` if it is too slow. */
export function observe(limits: ReadingLimits, before: Progress | undefined, now: Reading): Progress | 'cut' {
  if (before === undefined) return { moved: now, since: now };
  const { moved, since } = before;
  if (now.acceptedBytes === moved.acceptedBytes) return now.atMs - moved.atMs >= limits.stallMs ? 'cut' : before;
  const periodMs = now.atMs - since.atMs;
  if (periodMs < limits.averageMs) return { moved: now, since };
  const bytesPerSecond = ((now.acceptedBytes - since.acceptedBytes) * 1_000) / periodMs;
  return bytesPerSecond < limits.minBytesPerSecond ? 'cut' : { moved: now, since: now };
}

/**
 * Cuts connections whose clients do not read their responses. Checks all connections periodically instead of keeping a timer for each
 * response, which would cost time on every request. Responses are sent in small pieces, so that progress is visible.
 */
export function cutSlowReaders(
  server: Server,
  limits: ReadingLimits,
  onCut: () => void,
  nowMs: () => number = () => performance.now(),
): Disposable {
  const open = new Map<Socket, Progress | undefined>();
  const watch = (socket: Socket) => {
    open.set(socket, undefined);
    socket.once('close', () => open.delete(socket));
  };
  const look = () => {
    for (const [socket, before] of open) {
      const unsentBytes = socket.writableLength;
      if (unsentBytes === 0 && before === undefined) continue;
      const now = { acceptedBytes: socket.bytesWritten - unsentBytes, atMs: nowMs() };
      const progress = unsentBytes === 0 ? undefined : observe(limits, before, now);
      if (progress === 'cut') {
        onCut();
        socket.destroy();
      } else open.set(socket, progress);
    }
  };
  // With TLS, only the second event has a socket that knows what is unsent.
  server.on('connection', watch);
  server.on('secureConnection', watch);
  const timer = setInterval(look, limits.stallMs / 6).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
