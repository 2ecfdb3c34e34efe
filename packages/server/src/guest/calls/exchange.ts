import { type ClientHttp2Stream, constants } from 'node:http2';
import { GuestRefusal, GuestUnreachable } from '../../core/ports/guest-agent.ts';
import { type AnswerHead, refusalSink, type Sink } from '../answers/sinks.ts';
import type { Connection } from '../attach/connection.ts';
import { FrameTooLarge, NoAnswer, ProtocolViolation } from '../guest-errors.ts';
import { sendBody } from './upload.ts';

export interface ExchangeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: Buffer;
  readonly deadlineMs: number;
}

/** Sends a request and reads its whole answer. Settles by the deadline, whatever the guest does, and leaves no stream open. */
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
      reject(new GuestUnreachable('the agent is not connected', { cause: connection.endReason ?? cause }));
      return;
    }
    let sink: Sink<T> | undefined;
    // Node emits `response` one tick late: data from the same read can arrive before it.
    const early: Buffer[] = [];
    let finished = false;
    const finish = (report: () => void) => {
      if (finished) return;
      finished = true;
      clearTimeout(deadline);
      report();
      if (!stream.destroyed && !stream.writableFinished) cancel(stream);
    };
    const fail = (error: unknown) =>
      finish(() => {
        if (error instanceof FrameTooLarge) connection.end('the agent sent a frame that is too large', error);
        if (!stream.destroyed) cancel(stream);
        reject(error);
      });
    /** All code that handles guest bytes runs in here. */
    const guarded = (step: () => void) => {
      if (finished) return;
      try {
        step();
      } catch (error) {
        fail(error instanceof Error ? error : new ProtocolViolation('an answer that cannot be parsed'));
      }
    };
    const deadline = setTimeout(
      () => fail(new NoAnswer(`no answer to ${request.method} within ${Math.round(request.deadlineMs)} ms`)),
      request.deadlineMs,
    );
    stream.on('response', (headers) =>
      guarded(() => {
        const head = parseHead(headers);
        sink = head.status >= 400 ? refusalSink() : accept(head);
        for (const chunk of early.splice(0)) sink.push(chunk);
      }),
    );
    stream.on('headers', () => connection.countInterim());
    stream.on('data', (chunk: Buffer) => {
      const push = () => {
        if (sink === undefined) early.push(chunk);
        else sink.push(chunk);
      };
      const isUsedUp = connection.turn.spend(() => guarded(push));
      if (isUsedUp && !finished) pauseForOneTurn(stream);
    });
    const complete = () => {
      if (sink === undefined || stream.rstCode !== constants.NGHTTP2_NO_ERROR || connection.endReason !== undefined)
        return;
      const value = sink.finish();
      finish(() => resolve(value));
    };
    let sawEnd = false;
    stream.on('end', () => {
      sawEnd = true;
      // An answer that arrives before the request is sent is final. Otherwise a reset may still follow the last byte.
      if (!stream.writableFinished) guarded(complete);
    });
    stream.on('error', (cause) => fail(lostCall(connection, cause)));
    stream.on('close', () => {
      if (sawEnd) guarded(complete);
      fail(lostCall(connection));
    });
    if (request.body !== undefined) sendBody(request.body, stream).catch(fail);
  });
}

/** Lets everything else that is ready run before more of the stream is read. */
function pauseForOneTurn(stream: ClientHttp2Stream): void {
  stream.pause();
  setImmediate(() => stream.resume());
}

function cancel(stream: ClientHttp2Stream): void {
  stream.close(constants.NGHTTP2_CANCEL);
  stream.destroy();
}

/** The error of a call whose stream ended without an answer. */
export function lostCall(connection: Connection, cause?: unknown): GuestUnreachable {
  const reason = connection.endReason;
  if (reason !== undefined) return new GuestUnreachable(`the agent was lost: ${reason.message}`, { cause: reason });
  return new GuestUnreachable('the agent aborted the answer', { cause });
}

export function parseHead(headers: Readonly<Record<string, unknown>>): AnswerHead {
  const status = headers[':status'];
  if (typeof status !== 'number' || status < 200 || (status >= 300 && status < 400) || status > 599) {
    throw new ProtocolViolation('an unexpected status');
  }
  return {
    status,
    header(name) {
      const value = headers[name];
      return typeof value === 'string' ? value : undefined;
    },
  };
}

/** Whether the error is a refusal with this code. */
export function isRefusal(error: unknown, code: string): boolean {
  return error instanceof GuestRefusal && error.code === code;
}
