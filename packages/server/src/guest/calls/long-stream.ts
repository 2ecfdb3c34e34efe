import { type ClientHttp2Stream, constants } from 'node:http2';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Connection, Liveness } from '../attach/connection.ts';
import { FrameTooLarge, ProtocolViolation } from '../guest-errors.ts';
import { lostCall } from './exchange.ts';
import { type OpenStreamRequest, openStream } from './open-stream.ts';

/** Opens a stream that may last for hours. Pings the agent while it is open, because it may be silent. */
export async function openLongStream(
  connection: Connection,
  liveness: Liveness,
  request: OpenStreamRequest,
): Promise<ClientHttp2Stream> {
  const stream = await openStream(connection, request);
  // An error that nobody waits for must not end the process.
  stream.on('error', () => {});
  const isOver = Promise.withResolvers<void>();
  stream.once('close', isOver.resolve);
  void liveness.during(isOver.promise);
  return stream;
}

/** Makes parts out of the frames of a stream. */
export interface PartReader<Part> {
  push(chunk: Buffer): void;
  /** The parts that are complete. */
  take(): readonly Part[];
  /** Whether the last part has been read. */
  readonly isEnded: boolean;
}

/** Reads a stream, no faster than the caller. Throws GuestUnreachable if it ends before its last part. */
export async function* readParts<Part>(
  connection: Connection,
  stream: ClientHttp2Stream,
  parts: PartReader<Part>,
): AsyncGenerator<Part, void> {
  try {
    for await (const chunk of stream) {
      const isUsedUp = connection.turn.spend(() => parts.push(chunk as Buffer));
      yield* parts.take();
      if (parts.isEnded) return;
      if (isUsedUp) await nextTurn();
    }
  } catch (error) {
    if (error instanceof FrameTooLarge) connection.end('the agent sent a frame that is too large', error);
    throw error instanceof ProtocolViolation ? error : lostCall(connection, error);
  } finally {
    cancelStream(stream);
  }
  throw lostCall(connection);
}

/** Ends a stream on both sides. */
export function cancelStream(stream: ClientHttp2Stream): void {
  if (stream.destroyed) return;
  stream.close(constants.NGHTTP2_CANCEL);
  stream.destroy();
}
