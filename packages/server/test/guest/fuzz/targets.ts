import { EventEmitter } from 'node:events';
import { duplexPair, type Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { GuestRefusal, GuestUnreachable } from '../../../src/core/ports/guest-agent.ts';
import { executionSink } from '../../../src/guest/answers/execution-sink.ts';
import { FrameDecoder } from '../../../src/guest/answers/frame-decoder.ts';
import { listingSink } from '../../../src/guest/answers/listing-sink.ts';
import {
  clockAnswer,
  executionEnded,
  executionStarted,
  fileWritten,
  helloAnswer,
  outputGap,
  refusalAnswer,
  statsAnswer,
} from '../../../src/guest/answers/schemas.ts';
import { emptySink, fileSink, jsonSink, refusalSink, type Sink } from '../../../src/guest/answers/sinks.ts';
import { watchControlPort } from '../../../src/guest/attach/control-port.ts';
import { FrameGate } from '../../../src/guest/attach/frame-gate.ts';
import { createNonce, MarkerScanner, synchronise } from '../../../src/guest/attach/synchronise.ts';
import { LiveParts } from '../../../src/guest/calls/live.ts';
import { ProtocolViolation } from '../../../src/guest/guest-errors.ts';
import { guestLimits } from '../../../src/guest/guest-limits.ts';
import { chunked } from '../chunked.ts';
import type { FuzzTarget } from '../fuzz.ts';
import { answerAttach, attachTo, openPeer, type Peer, untilFrame } from '../peer.ts';

const corpus = (name: string): string => new URL(`./corpus/${name}`, import.meta.url).pathname;

/** The result of a step, or the violation it threw. Other errors are findings, except the allowed ones. */
function outcome(step: () => unknown, allowed: readonly (new (...args: never[]) => Error)[] = []): string {
  try {
    return `returned ${show(step())}`;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (error instanceof ProtocolViolation) return error.message;
    if (allowed.some((kind) => error instanceof kind)) return `${error.name} ${JSON.stringify(error.message)}`;
    throw error;
  }
}

/** A value as text. Throws if it exceeds the limits of the protocol. */
function show(value: unknown): string {
  if (Buffer.isBuffer(value)) return `${value.length} bytes ${value.subarray(0, 256).toString('hex')}`;
  if (typeof value === 'bigint') return must(value >= 0n && value < 10n ** 19n, `${value}`);
  if (typeof value === 'number') return must(Number.isSafeInteger(value) && value >= 0, `${value}`);
  if (typeof value === 'string') return must(value.length <= 8_192, JSON.stringify(value));
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, field]) => `${name}=${show(field)}`)
    .join(' ');
}

function must(holds: boolean, text: string): string {
  if (!holds) throw new Error(`a value exceeds its limits: ${text}`);
  return text;
}

function feed<T>(sink: Sink<T>, pieces: readonly Buffer[]): T {
  for (const piece of pieces) sink.push(piece);
  return sink.finish();
}

const schemas = {
  hello: helloAnswer,
  clock: clockAnswer,
  figures: statsAnswer,
  started: executionStarted,
  ended: executionEnded,
  gap: outputGap,
  written: fileWritten,
  refusal: refusalAnswer,
};

const captureBytes = 1_000;

const controlNonce = '0123456789abcdef0123456789abcdef';
const marker = Buffer.from(`MAYFLY-SYNC ${controlNonce}\n`);

/** All parsers of bytes from an agent. */
export const guestTargets: Readonly<Record<string, FuzzTarget>> = {
  marker: {
    corpus: corpus('marker'),
    parse: (pieces) => {
      const scanner = new MarkerScanner(marker);
      for (const [index, piece] of pieces.entries()) {
        const rest = scanner.push(piece);
        if (rest !== undefined) return `found, then ${show(Buffer.concat([rest, ...pieces.slice(index + 1)]))}`;
      }
      return `not in ${scanner.droppedBytes} bytes`;
    },
  },
  control: {
    corpus: corpus('control'),
    parse: (pieces) => {
      const port = Object.assign(new EventEmitter(), { pause: () => {} }) as unknown as Readable;
      const over = watchControlPort(port, controlNonce);
      for (const piece of pieces) port.emit('data', piece);
      return Promise.race([over, Promise.resolve('the session goes on')]);
    },
  },
  frames: {
    corpus: corpus('frames'),
    parse: (pieces) => {
      const seen: string[] = [];
      const decoder = new FrameDecoder((type, payload) => {
        must(payload.length <= guestLimits.framePayloadBytes, 'a frame');
        seen.push(`${type}:${payload.length}:${payload.subarray(0, 64).toString('hex')}`);
      });
      const end = outcome(() => {
        for (const piece of pieces) decoder.push(piece);
        decoder.finish();
      });
      return `${seen.length > 3 ? 'many' : seen.length} frames, ${end} "${seen.join(' ')}"`;
    },
  },
  execution: {
    corpus: corpus('execution'),
    parse: (pieces) =>
      outcome(() => {
        const result = feed(executionSink(captureBytes), pieces);
        must(result.exitCode <= 255, 'an exit code');
        for (const kept of [result.stdout, result.stderr]) {
          must(kept.length <= captureBytes + guestLimits.framePayloadBytes, 'output');
        }
        return result;
      }),
  },
  live: {
    corpus: corpus('live'),
    parse: (pieces) => {
      const parts = new LiveParts();
      const end = outcome(() => {
        for (const piece of pieces) parts.push(piece);
      });
      const bytes = { stdout: 0, stderr: 0, gap: 0, ended: 0 };
      for (const part of parts.take()) {
        bytes[part.kind] += 'bytes' in part ? part.bytes.length : 'lostBytes' in part ? part.lostBytes : 1;
      }
      return `${end}, ${show(bytes)}`;
    },
  },
  answers: {
    corpus: corpus('answers'),
    parse: (pieces) =>
      Object.entries(schemas)
        .map(([name, schema]) => `${name}: ${outcome(() => feed(jsonSink<unknown>(schema, 4_096), pieces))}`)
        .join('\n'),
  },
  listing: {
    corpus: corpus('listing'),
    parse: (pieces) =>
      outcome(() => {
        const listing = feed(listingSink(4), pieces);
        must(listing.entries.length <= 4, 'a listing');
        return listing;
      }),
  },
  refusal: {
    corpus: corpus('refusal'),
    parse: (pieces) =>
      outcome(() => {
        try {
          return feed(refusalSink(), pieces);
        } catch (error) {
          if (error instanceof GuestRefusal) must(!/\p{Cc}/u.test(error.message), 'a control character');
          throw error;
        }
      }, [GuestRefusal]),
  },
  /** The first byte is the length of the size header that follows; the rest is the body. */
  file: {
    corpus: corpus('file'),
    parse: (pieces) => {
      const all = Buffer.concat(pieces);
      const announced = all.subarray(1, 1 + (all[0] ?? 0)).toString('latin1');
      let skip = 1 + announced.length;
      const body = pieces.map((piece) => {
        const rest = piece.subarray(Math.min(skip, piece.length));
        skip -= piece.length - rest.length;
        return rest;
      });
      const head = { status: 200, header: (name: string) => (name === 'mayfly-size' ? announced : undefined) };
      return outcome(() => {
        const file = feed(fileSink(head, captureBytes), body);
        must(file.length <= captureBytes, 'a file');
        return file;
      });
    },
  },
  nothing: {
    corpus: corpus('refusal'),
    parse: (pieces) => outcome(() => feed(emptySink(), pieces)),
  },
  /** HTTP/2 frames, as the host judges them before it handles them. */
  gate: {
    corpus: corpus('gate'),
    parse: (pieces) =>
      outcome(() => {
        const gate = new FrameGate(() => 64);
        let passedBytes = 0;
        for (const piece of pieces) {
          for (let rest = piece; rest.length > 0; ) {
            const { end } = gate.admit(rest, 2);
            must(end > 0 && end <= rest.length, `${end} of ${rest.length} bytes`);
            passedBytes += end;
            rest = rest.subarray(end);
          }
        }
        return passedBytes;
      }),
  },
  /** Bytes on the data port during an attach; `<nonce>` stands for the host's nonce. */
  attach: { corpus: corpus('attach'), parse: attach, pace: 0.2 },
  /** Bytes after the marker, to a host that requests a command and a file. */
  http2: { corpus: corpus('http2'), parse: converse, pace: 0.2, timing: true },
};

/** Writes the bytes to the data port in chunks of this size. */
function send(peer: Peer, bytes: Buffer, pieceBytes: number): void {
  for (const piece of chunked(bytes, [Math.max(1, pieceBytes)])) peer.data.write(piece);
}

async function attach(pieces: readonly Buffer[]): Promise<string> {
  const peer = await openPeer(async () => duplexPair());
  const synchronising = synchronise(peer.channel, createNonce(), 2_000, 1_000);
  const nonce = await peer.nonce;
  const sent = Buffer.concat(pieces).toString('latin1').replaceAll('<nonce>', nonce);
  peer.data.resume();
  send(peer, Buffer.from(sent, 'latin1'), pieces[0]?.length ?? 1);
  peer.data.end();
  try {
    await synchronising;
    let restBytes = 0;
    for await (const piece of peer.channel.data) restBytes += (piece as Buffer).length;
    return `attached, then ${restBytes} bytes`;
  } catch (error) {
    return expectedMessage(error);
  } finally {
    peer.channel.close();
    peer.data.destroy();
    peer.control.destroy();
  }
}

const impatient = { deadlines: { smallCallMs: 500, executeGraceMs: 500, attachRepeatMs: 1_000 } };

/** Sends what precedes `<call>` to a host that attaches, and the rest once it has requested a command, a file and stats. */
async function converse(pieces: readonly Buffer[]): Promise<string> {
  const peer = await openPeer();
  const bytes = Buffer.concat(pieces);
  const pieceBytes = pieces[0]?.length ?? 1;
  const border = bytes.indexOf('<call>');
  const attaching = attachTo(peer, 500, impatient);
  try {
    await answerAttach(peer);
    await untilFrame(peer, 1, 24);
    send(peer, border < 0 ? bytes : bytes.subarray(0, border), pieceBytes);
    if (border < 0) peer.data.end();
    const agent = await attaching;
    const calls = Promise.allSettled([
      agent.execute({ id: 'e', command: '', cwd: '/', env: {}, timeoutMs: 1, captureBytes }),
      agent.readFile('f', captureBytes),
      agent.stats(),
    ]);
    await Promise.race([untilFrame(peer, 1, 0), wait(20)]);
    await wait(0);
    peer.data.resume();
    if (border >= 0) send(peer, bytes.subarray(border + 6), pieceBytes);
    peer.data.end();
    const ends = (await calls).map((end) => (end.status === 'fulfilled' ? 'answered' : expectedMessage(end.reason)));
    agent.close();
    return ends.join('; ');
  } catch (error) {
    return expectedMessage(error);
  } finally {
    peer.channel.close();
    peer.data.destroy();
    peer.control.destroy();
  }
}

/** The message of an error that callers of the agent expect; any other error is a finding. */
function expectedMessage(error: unknown): string {
  if (error instanceof GuestUnreachable || error instanceof GuestRefusal) return error.message;
  throw error;
}
