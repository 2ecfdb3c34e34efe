import { type ClientHttp2Stream, constants } from 'node:http2';
import type { Duplex } from 'node:stream';
import { GuestUnreachable } from '../../core/ports/guest-agent.ts';
import { refusalSink } from '../answers/sinks.ts';
import type { Connection } from '../attach/connection.ts';
import { NoAnswer, ProtocolViolation } from '../guest-errors.ts';
import { lostCall, parseHead } from './exchange.ts';

/** Opens a connection to a port inside the guest. It closes once the guest has ended its side, or with the agent's connection. */
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
    const stopWaiting = () => {
      clearTimeout(deadline);
      stream.off('response', onResponse);
      stream.off('error', onError);
      stream.off('close', onClose);
    };
    const fail = (error: unknown) => {
      stopWaiting();
      // A later reset of the stream does not matter any more.
      stream.on('error', () => {});
      stream.close(constants.NGHTTP2_CANCEL);
      stream.destroy();
      reject(error);
    };
    const onResponse = (headers: Readonly<Record<string, unknown>>) => {
      try {
        const { status } = parseHead(headers);
        if (status === 200) {
          stopWaiting();
          resolve(toTunnel(stream));
        } else if (status >= 400) readRefusal(stream, fail);
        else throw new ProtocolViolation('an unexpected status');
      } catch (error) {
        fail(error);
      }
    };
    const onError = (cause: unknown) => fail(lostCall(connection, cause));
    const onClose = () => fail(lostCall(connection));
    const deadline = setTimeout(() => fail(new NoAnswer(`no tunnel within ${deadlineMs} ms`)), deadlineMs);
    stream.once('response', onResponse);
    stream.once('error', onError);
    stream.once('close', onClose);
  });
}

/** Makes the stream close when the guest ends its side. An error that nobody listens for must not end the process. */
function toTunnel(stream: ClientHttp2Stream): Duplex {
  stream.on('error', () => {});
  stream.once('end', () => stream.end());
  skipEmptyWrites(stream);
  return stream;
}

/**
 * Works around a bug in Node's HTTP/2: when a batch of writes contains an empty one near its end, Node completes the batch and releases its
 * buffers before they are sent, and other memory goes to the guest instead. Node's HTTP client ends every body with an empty write.
 */
function skipEmptyWrites(stream: ClientHttp2Stream): void {
  const writeAll = stream._writev?.bind(stream);
  if (writeAll === undefined) return;
  stream._writev = (chunks, done) => {
    const full = chunks.filter(({ chunk }) => (chunk as string | Buffer).length > 0);
    if (full.length === 0) done();
    else writeAll(Object.assign(full, { allBuffers: full.every(({ chunk }) => typeof chunk !== 'string') }), done);
  };
}

/** Reads the agent's refusal and fails the tunnel with it. */
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
