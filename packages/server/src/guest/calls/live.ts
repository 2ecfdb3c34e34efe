import type { LiveOutput, LivePart } from '../../core/ports/guest-agent.ts';
import { frameType, readEnded, readJson } from '../answers/execution-sink.ts';
import { FrameDecoder } from '../answers/frame-decoder.ts';
import { executionStarted, outputGap } from '../answers/schemas.ts';
import type { Connection, Liveness } from '../attach/connection.ts';
import { ProtocolViolation } from '../guest-errors.ts';
import { cancelStream, openLongStream, type PartReader, readParts } from './long-stream.ts';
import type { OpenStreamRequest } from './open-stream.ts';

/** Opens the output of a live command. Reads no faster than the caller, and pings the agent while the command is silent. */
export async function openLive(
  connection: Connection,
  liveness: Liveness,
  request: Omit<OpenStreamRequest, 'isDuplex'>,
): Promise<LiveOutput> {
  const stream = await openLongStream(connection, liveness, { ...request, isDuplex: false });
  return {
    [Symbol.asyncIterator]: () => readParts(connection, stream, new LiveParts()),
    close: () => cancelStream(stream),
  };
}

/** Reads the frames of a live command. Bytes of one stream that arrive together are one part. */
export class LiveParts implements PartReader<LivePart> {
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
