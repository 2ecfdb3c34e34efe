import { type ClientHttp2Stream, constants } from 'node:http2';
import { Readable } from 'node:stream';
import { GuestRefusal, GuestUnreachable } from '../core/ports/guest-agent.ts';
import type { Connection } from './connection.ts';
import { FrameTooLarge } from './frame-decoder.ts';
import { guestLimits } from './limits.ts';
import { NoAnswer } from './no-answer.ts';
import { ProtocolViolation } from './protocol-violation.ts';
import { refusalSink } from './refusal-sink.ts';
import type { AnswerHead, Sink } from './sink.ts';
import { upload } from './upload.ts';

export interface ExchangeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: Buffer | { readonly source: Readable; readonly maxBytes: number };
  readonly deadlineMs: number;
}

/** One request and its whole answer. Settles by the deadline, whatever the guest does; leaves no stream behind. */
export function exchange<T>(
  connection: Connection,
  request: ExchangeRequest,
  accept: (head: AnswerHead) => Sink<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let stream: ClientHttp2Stream;
    try {
      stream = connection.session.request(
        { ':method': request.method, ':path': request.path },
        { endStream: request.body === undefined },
      );
    } catch (cause) {
      discard(request.body);
      reject(new GuestUnreachable('the agent is not connected', { cause: connection.endReason ?? cause }));
      return;
    }
    let sink: Sink<T> | undefined;
    // Node announces the status one tick late: data that came in the same read is there before it.
    const early: Buffer[] = [];
    let settled = false;
    const settle = (apply: () => void) => {
      if (settled) return;
      settled = true;
      clearTimeout(deadline);
      apply();
      if (!stream.destroyed && !stream.writableFinished) cancel(stream);
    };
    const fail = (error: unknown) =>
      settle(() => {
        if (error instanceof FrameTooLarge) connection.end('the agent sent a frame that is too large', error);
        if (!stream.destroyed) cancel(stream);
        reject(error);
      });
    /** Guest bytes are only ever looked at in here. */
    const guarded = (step: () => void) => {
      if (settled) return;
      try {
        step();
      } catch (error) {
        fail(error instanceof Error ? error : new ProtocolViolation('an answer that cannot be read'));
      }
    };
    const deadline = setTimeout(
      () => fail(new NoAnswer(`no answer to ${request.method} within ${Math.round(request.deadlineMs)} ms`)),
      request.deadlineMs,
    );
    stream.on('response', (headers) =>
      guarded(() => {
        const head = readHead(headers);
        sink = head.status >= 400 ? refusalSink() : accept(head);
        for (const chunk of early.splice(0)) sink.push(chunk);
      }),
    );
    stream.on('data', (chunk: Buffer) =>
      guarded(() => {
        if (sink === undefined) early.push(chunk);
        else sink.push(chunk);
      }),
    );
    const complete = () => {
      if (sink === undefined || stream.rstCode !== constants.NGHTTP2_NO_ERROR || connection.endReason !== undefined)
        return;
      const value = sink.finish();
      settle(() => resolve(value));
    };
    let sawEnd = false;
    stream.on('end', () => {
      sawEnd = true;
      // An answer that overtakes the request is final; otherwise a reset may still follow the last byte.
      if (!stream.writableFinished) guarded(complete);
    });
    stream.on('error', (cause) => fail(lost(connection, cause)));
    stream.on('close', () => {
      if (sawEnd) guarded(complete);
      fail(lost(connection));
    });
    send(stream, request.body, fail);
  });
}

function send(stream: ClientHttp2Stream, body: ExchangeRequest['body'], fail: (error: unknown) => void): void {
  if (body === undefined) return;
  if (!Buffer.isBuffer(body)) upload(body.source, stream, body.maxBytes).catch(fail);
  else if (body.length <= guestLimits.writeBytes) stream.end(body);
  else upload(Readable.from(pieces(body)), stream, body.length).catch(fail);
}

function* pieces(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += guestLimits.writeBytes) yield body.subarray(at, at + guestLimits.writeBytes);
}

function discard(body: ExchangeRequest['body']): void {
  if (body !== undefined && !Buffer.isBuffer(body)) body.source.destroy();
}

function cancel(stream: ClientHttp2Stream): void {
  stream.close(constants.NGHTTP2_CANCEL);
  stream.destroy();
}

export function lost(connection: Connection, cause?: unknown): GuestUnreachable {
  const reason = connection.endReason;
  if (reason !== undefined) return new GuestUnreachable(`the agent was lost: ${reason.message}`, { cause: reason });
  return new GuestUnreachable('the agent broke the answer off', { cause });
}

export function readHead(headers: Readonly<Record<string, unknown>>): AnswerHead {
  const status = headers[':status'];
  if (typeof status !== 'number' || status < 200 || (status >= 300 && status < 400) || status > 599) {
    throw new ProtocolViolation('a status that is not agreed');
  }
  return {
    status,
    header(name) {
      const value = headers[name];
      return typeof value === 'string' ? value : undefined;
    },
  };
}

/** True for the refusal with this code. */
export function isRefusal(error: unknown, code: string): boolean {
  return error instanceof GuestRefusal && error.code === code;
}
