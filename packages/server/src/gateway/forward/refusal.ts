import type { PreviewRefusal } from '../../core/ports/metrics.ts';
import { PreviewError } from '../../core/previews/visits.ts';
import { abortResponse, sendHead, type VisitorRequest, type VisitorResponse } from './http-versions.ts';

const statuses: Readonly<Record<PreviewRefusal, number>> = {
  unknown: 404,
  nothing_listening: 502,
  unreachable: 502,
  busy: 503,
  bad_request: 400,
  misdirected: 421,
  not_supported: 501,
  rate_limited: 429,
};

const titles: Readonly<Record<PreviewRefusal, string>> = {
  unknown: 'No such preview',
  nothing_listening: 'Nothing is listening',
  unreachable: 'The sandbox does not answer',
  busy: 'Too many connections',
  bad_request: 'Bad request',
  misdirected: 'Misdirected request',
  not_supported: 'Not supported',
  rate_limited: 'Too many requests',
};

/** How often the page for a server that has not started yet reloads itself. */
const reloadSeconds = 3;

/** A request that the gateway refuses before it reaches a sandbox. */
export class Refused extends Error {
  readonly kind: PreviewRefusal;
  readonly retryAfterSeconds: number | undefined;

  constructor(kind: PreviewRefusal, message: string, retryAfterSeconds?: number) {
    super(message);
    this.kind = kind;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Answers a request that failed. A response that has begun is aborted. Returns the kind of the refusal, for the metrics. */
export function sendRefusal(request: VisitorRequest, response: VisitorResponse, error: unknown): PreviewRefusal {
  const failure = describeFailure(error);
  if (response.headersSent) abortResponse(response);
  else {
    const { status, headers, body } = refusalResponse(failure, request.headers.accept);
    // The rest of the request is not read, so an HTTP/1.1 connection cannot be used again.
    const closing = request.httpVersionMajor === 1 ? { connection: 'close' } : {};
    sendHead(response, status, { ...headers, ...closing });
    response.end(Buffer.from(request.method === 'HEAD' ? '' : body));
  }
  return failure.kind;
}

interface Failure {
  readonly kind: PreviewRefusal;
  readonly message: string;
  readonly retryAfterSeconds?: number | undefined;
}

export interface RefusalResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** An HTML page for browsers, JSON for other clients. The message must not contain anything from a visitor or a guest. */
export function refusalResponse(failure: Failure, accept: string | undefined): RefusalResponse {
  const { kind, message, retryAfterSeconds = kind === 'busy' ? 1 : undefined } = failure;
  const isBrowser = accept?.includes('text/html') === true;
  const body = isBrowser ? page(kind, message) : `${JSON.stringify({ error: { type: kind, message } })}\n`;
  return {
    status: statuses[kind],
    headers: {
      'content-type': isBrowser ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
      'referrer-policy': 'no-referrer',
      'x-mayfly-preview': kind,
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
    },
    body,
  };
}

/** Messages of errors that are not the gateway's own are not shown. */
function describeFailure(error: unknown): Failure {
  if (error instanceof Refused || error instanceof PreviewError) return error;
  return { kind: 'unreachable', message: 'The server in the sandbox closed the connection.' };
}

function page(kind: PreviewRefusal, message: string): string {
  const reloads = kind === 'nothing_listening';
  const refresh = reloads ? `<meta http-equiv="refresh" content="${reloadSeconds}">` : '';
  const hint = reloads ? `<p>Start a server on that port. This page reloads every ${reloadSeconds} seconds.</p>` : '';
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">${refresh}
<title>${titles[kind]}</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { max-width: 34rem; margin: 18vh auto; padding: 0 1.5rem; }
  h1 { font-size: 1.5rem; margin: 0 0 .5rem; }
  p { margin: .5rem 0; }
  small { opacity: .6; }
</style></head>
<body><h1>${titles[kind]}</h1><p>${message}</p>${hint}<p><small>${statuses[kind]} · Mayfly preview</small></p></body></html>
`;
}
