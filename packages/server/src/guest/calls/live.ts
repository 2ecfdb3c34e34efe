import { type ClientHttp2Stream, constants } from 'node:http2';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LiveOutput, LivePart } from '../../core/ports/guest-agent.ts';
import { frameType, readEnded, readJson } from '../answers/execution-sink.ts';
import { FrameDecoder } from '../answers/frame-decoder.ts';
import { executionStarted, outputGap } from '../answers/schemas.ts';
import type { Connection, Liveness } from '../attach/connection.ts';
import { FrameTooLarge, ProtocolViolation } from '../guest-errors.ts';
import { lostCall } from './exchange.ts';
import { type OpenStreamRequest, openStream } from './open-stream.ts';

/** Opens the output of a live command. Reads no faster than the caller, and pings the agent while the command is silent. */
export async function openLive(
  connection: Connection,
  liveness: Liveness,
  request: Omit<OpenStreamRequest, 'isDuplex'>,
): Promise<LiveOutput> {
  const stream = await openStream(connection, { ...request, isDuplex: false });
  // An error that nobody waits for must not end the process.
  stream.on('error', () => {});
  const isOver = Promise.withResolvers<void>();
  stream.once('close', isOver.resolve);
  void liveness.during(isOver.promise);
  return {
    [Symbol.asyncIterator]: () => readParts(connection, stream),
    close: () => cancelStream(stream),
  };
}

async function* readParts(connection: Connection, stream: ClientHttp2Stream): AsyncGenerator<LivePart, void> {
  const parts = new LiveParts();
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

/** Reads the frames of a live command. Bytes of one stream that arrive together are one part. */
export class LiveParts {
  readonly #frames = new FrameDecoder((type, payload) => this.#onFrame(type, payload));
  #ready: LivePart[] = [];
  #isStarted = false;
  #isEnded = false;

  get isEnded(): boolean {
    return this.#isEnded;
  }

  push(chunk: Buffer): void {
    this.#frames.push(chunk);
  }

  take(): readonly LivePart[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  #onFrame(type: number, payload: Buffer): void {
    if (this.#isEnded) throw new ProtocolViolation('a frame after the result');
    if (this.#isStarted === (type === frameType.started)) {
      throw new ProtocolViolation('a start frame in the wrong place');
    }
    switch (type) {
      case frameType.started:
        readJson(payload, executionStarted);
        this.#isStarted = true;
        return;
      case frameType.stdout:
        this.#addBytes('stdout', payload);
        return;
      case frameType.stderr:
        this.#addBytes('stderr', payload);
        return;
      case frameType.gap:
        this.#ready.push({ kind: 'gap', lostBytes: readJson(payload, outputGap).bytes });
        return;
      case frameType.ended:
        readEnded(payload);
        this.#isEnded = true;
        this.#ready.push({ kind: 'ended' });
        return;
      default:
        throw new ProtocolViolation(`a frame of the unknown type ${type}`);
    }
  }

  #addBytes(kind: 'stdout' | 'stderr', payload: Buffer): void {
    if (payload.length === 0) throw new ProtocolViolation('an empty frame');
    const last = this.#ready.at(-1);
    if (last?.kind === kind)
      this.#ready[this.#ready.length - 1] = { kind, bytes: Buffer.concat([last.bytes, payload]) };
    else this.#ready.push({ kind, bytes: payload });
  }
}
