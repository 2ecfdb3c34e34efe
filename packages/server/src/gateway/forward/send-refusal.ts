import type { PreviewRefusal } from '../../core/ports/metrics.ts';
import { PreviewFailure } from '../../core/previews/failure.ts';
import { breakOff, sendHead, type VisitorRequest, type VisitorResponse } from '../messages.ts';
import { refusalOf } from '../refusal.ts';

/** A request that does not get as far as a sandbox. */
export class Refused extends Error {
  readonly kind: PreviewRefusal;

  constructor(kind: PreviewRefusal, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** What a failure of any sort is told as; what is not ours is not told. */
export function kindOf(error: unknown): { readonly kind: PreviewRefusal; readonly message: string } {
  if (error instanceof Refused || error instanceof PreviewFailure) return error;
  return { kind: 'unreachable', message: 'The server in the sandbox broke the connection off.' };
}

/** Answers in place of the server in the sandbox; an answer that has begun is broken off. Gives what was told. */
export function sendRefusal(request: VisitorRequest, response: VisitorResponse, error: unknown): PreviewRefusal {
  const { kind, message } = kindOf(error);
  if (response.headersSent) breakOff(response);
  else {
    const { status, headers, body } = refusalOf(kind, message, request.headers.accept);
    // What is left of the request is not read: over HTTP/1.1 the connection ends with it.
    const closing = request.httpVersionMajor === 1 ? { connection: 'close' } : {};
    sendHead(response, status, { ...headers, ...closing });
    response.end(Buffer.from(request.method === 'HEAD' ? '' : body));
  }
  return kind;
}
