import { type ClientHttp2Stream, constants } from 'node:http2';
import type { Duplex } from 'node:stream';
import { GuestUnreachable } from '../core/ports/guest-agent.ts';
import type { Connection } from './connection.ts';
import { lost, readHead } from './exchange.ts';
import { NoAnswer } from './no-answer.ts';
import { ProtocolViolation } from './protocol-violation.ts';
import { refusalSink } from './refusal-sink.ts';

/** A connection to a port inside the guest, as a stream. It closes once the guest has ended it, or the agent's connection is gone. */
export function openTunnel(connection: Connection, port: number, deadlineMs: number): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    let stream: ClientHttp2Stream;
    try {
      const path = `/tunnels?port=${port}`;
      stream = connection.session.request({ ':method': 'POST', ':path': path }, { endStream: false });
    } catch (cause) {
      reject(new GuestUnreachable('the agent is not connected', { cause: connection.endReason ?? cause }));
      return;
    }
    const settle = (apply: () => void) => {
      clearTimeout(deadline);
      stream.off('response', onResponse);
      stream.off('error', onError);
      stream.off('close', onClose);
      apply();
    };
    const fail = (error: unknown) =>
      settle(() => {
        // A reset that comes later is nobody's business.
        stream.on('error', () => {});
        stream.close(constants.NGHTTP2_CANCEL);
        stream.destroy();
        reject(error);
      });
    const onResponse = (headers: Readonly<Record<string, unknown>>) => {
      try {
        const { status } = readHead(headers);
        if (status === 200) settle(() => resolve(tunnelOf(stream)));
        else if (status >= 400) readRefusal(stream, fail);
        else throw new ProtocolViolation('a status that is not agreed');
      } catch (error) {
        fail(error);
      }
    };
    const onError = (cause: unknown) => fail(lost(connection, cause));
    const onClose = () => fail(lost(connection));
    const deadline = setTimeout(() => fail(new NoAnswer(`no tunnel within ${deadlineMs} ms`)), deadlineMs);
    stream.once('response', onResponse);
    stream.once('error', onError);
    stream.once('close', onClose);
  });
}

/** The stream itself, which closes when the guest's side has ended; an error that nobody listens for is no reason to die. */
function tunnelOf(stream: ClientHttp2Stream): Duplex {
  stream.on('error', () => {});
  stream.once('end', () => stream.end());
  leaveOutEmptyWrites(stream);
  return stream;
}

/**
 * Node tells that several writes are done, and lets go of their bytes, as soon as it meets an empty one among the last of them, sent or
 * not: what then goes to the guest is whatever came to lie there. HTTP's client ends every body with an empty write.
 */
function leaveOutEmptyWrites(stream: ClientHttp2Stream): void {
  const writeAll = stream._writev?.bind(stream);
  if (writeAll === undefined) return;
  stream._writev = (chunks, done) => {
    const full = chunks.filter(({ chunk }) => (chunk as string | Buffer).length > 0);
    if (full.length === 0) done();
    else writeAll(Object.assign(full, { allBuffers: full.every(({ chunk }) => typeof chunk !== 'string') }), done);
  };
}

/** Reads why the agent refused, which is what the tunnel fails with. */
function readRefusal(stream: ClientHttp2Stream, fail: (error: unknown) => void): void {
  const sink = refusalSink();
  const guarded = (step: () => void) => {
    try {
      step();
    } catch (error) {
      fail(error);
    }
  };
  stream.on('data', (chunk: Buffer) => guarded(() => sink.push(chunk)));
  stream.once('end', () => guarded(() => sink.finish()));
}
