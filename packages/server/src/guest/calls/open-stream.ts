import { type ClientHttp2Stream, constants } from 'node:http2';
import { GuestUnreachable } from '../../core/ports/guest-agent.ts';
import { refusalSink } from '../answers/sinks.ts';
import type { Connection } from '../attach/connection.ts';
import { NoAnswer, ProtocolViolation } from '../guest-errors.ts';
import { lostCall, parseHead } from './exchange.ts';
import { sendBody } from './upload.ts';

export interface OpenStreamRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** The whole body; absent if the caller writes it, or if there is none. */
  readonly body?: Buffer;
  /** Whether the caller writes to the stream. */
  readonly isDuplex: boolean;
  readonly deadlineMs: number;
}

/** Sends a request whose answer is read, or exchanged, for as long as both sides want. Resolves once the agent has agreed to it. */
export function openStream(connection: Connection, request: OpenStreamRequest): Promise<ClientHttp2Stream> {
  const { method, path, body, isDuplex, deadlineMs } = request;
  return new Promise((resolve, reject) => {
    let stream: ClientHttp2Stream;
    try {
      const endStream = !isDuplex && body === undefined;
      stream = connection.session.request({ ':method': method, ':path': path }, { endStream });
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
          resolve(stream);
        } else if (status >= 400) readRefusal(stream, fail);
        else throw new ProtocolViolation('an unexpected status');
      } catch (error) {
        fail(error);
      }
    };
    const onError = (cause: unknown) => fail(lostCall(connection, cause));
    const onClose = () => fail(lostCall(connection));
    const deadline = setTimeout(() => fail(new NoAnswer(`no answer to ${method} within ${deadlineMs} ms`)), deadlineMs);
    stream.once('response', onResponse);
    stream.once('error', onError);
    stream.once('close', onClose);
    if (body !== undefined) sendBody(body, stream).catch(fail);
  });
}

/** Reads the agent's refusal and fails the call with it. */
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
