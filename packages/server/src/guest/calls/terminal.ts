import type { ClientHttp2Stream } from 'node:http2';
import { GuestUnreachable, type TerminalChannel, type TerminalPart } from '../../core/ports/guest-agent.ts';
import { readJson } from '../answers/execution-sink.ts';
import { FrameDecoder } from '../answers/frame-decoder.ts';
import { terminalExit, terminalPosition, terminalSize } from '../answers/schemas.ts';
import type { Connection, Liveness } from '../attach/connection.ts';
import { ProtocolViolation } from '../guest-errors.ts';
import { guestLimits } from '../guest-limits.ts';
import { cancelStream, openLongStream, type PartReader, readParts } from './long-stream.ts';

const frameType = { bytes: 0, size: 1, position: 2, exit: 3 } as const;
/** An agent keeps this many sizes of the past; besides these it sends one for each that it was told. */
const pastSizes = 1_024;

/** Opens a terminal in both directions. */
export async function openTerminal(
  connection: Connection,
  liveness: Liveness,
  path: string,
  deadlineMs: number,
): Promise<TerminalChannel> {
  const stream = await openLongStream(connection, liveness, { method: 'POST', path, isDuplex: true, deadlineMs });
  const write = (type: number, payload: Uint8Array): boolean => {
    const frame = Buffer.alloc(5 + payload.length);
    frame.writeUInt8(type, 0);
    frame.writeUInt32BE(payload.length, 1);
    frame.set(payload, 5);
    return stream.write(frame);
  };
  const parts = new TerminalParts();
  return {
    [Symbol.asyncIterator]: () => readParts(connection, stream, parts),
    type: async (bytes) => {
      for (let at = 0; at < bytes.length; at += guestLimits.terminalInputBytes) {
        if (!stream.writable) throw new GuestUnreachable('the terminal is not connected');
        if (!write(frameType.bytes, bytes.subarray(at, at + guestLimits.terminalInputBytes))) await drained(stream);
      }
    },
    resize: ({ cols, rows }) => {
      parts.allowSize();
      if (stream.writable) write(frameType.size, Buffer.from(JSON.stringify({ cols, rows })));
    },
    close: () => cancelStream(stream),
  };
}

/** Waits until the stream accepts more, or is gone. */
async function drained(stream: ClientHttp2Stream): Promise<void> {
  if (stream.destroyed) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      stream.off('drain', done);
      stream.off('close', done);
      resolve();
    };
    stream.on('drain', done);
    stream.on('close', done);
  });
}

/** Reads the frames of a terminal. Output that arrives together is one part, and a size that is replaced at once is left out. */
class TerminalParts implements PartReader<TerminalPart> {
  readonly #frames = new FrameDecoder((type, payload) => this.#add(partOf(type, payload)));
  #ready: TerminalPart[] = [];
  #allowedSizes = pastSizes;
  #isStarted = false;
  #isEnded = false;

  get isEnded(): boolean {
    return this.#isEnded;
  }

  allowSize(): void {
    this.#allowedSizes += 1;
  }

  push(chunk: Buffer): void {
    this.#frames.push(chunk);
  }

  take(): readonly TerminalPart[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  #add(part: TerminalPart): void {
    if (this.#isEnded) throw new ProtocolViolation('a frame after the exit code');
    this.#isEnded = part.kind === 'exit';
    if (part.kind === 'output' && part.bytes.length === 0) throw new ProtocolViolation('an empty frame');
    if (this.#isStarted === (part.kind === 'position')) throw new ProtocolViolation('a position in the wrong place');
    this.#isStarted = true;
    const last = this.#ready.at(-1);
    if (part.kind === 'size') {
      this.#allowedSizes -= 1;
      if (this.#allowedSizes < 0) throw new ProtocolViolation('more sizes than the terminal was given');
    }
    if (part.kind === 'output' && last?.kind === 'output') {
      this.#ready[this.#ready.length - 1] = { kind: 'output', bytes: Buffer.concat([last.bytes, part.bytes]) };
    } else if (part.kind === 'size' && last?.kind === 'size') this.#ready[this.#ready.length - 1] = part;
    else this.#ready.push(part);
  }
}

/** Parses a frame of a terminal. */
function partOf(type: number, payload: Buffer): TerminalPart {
  switch (type) {
    case frameType.bytes:
      return { kind: 'output', bytes: payload };
    case frameType.size:
      return { kind: 'size', size: readJson(payload, terminalSize) };
    case frameType.position:
      return { kind: 'position', ...readJson(payload, terminalPosition) };
    case frameType.exit:
      return { kind: 'exit', exitCode: readJson(payload, terminalExit).exit_code };
    default:
      throw new ProtocolViolation(`a frame of the unknown type ${type}`);
  }
}
