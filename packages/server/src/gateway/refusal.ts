import type { PreviewRefusal } from '../core/ports/metrics.ts';

const statuses: Readonly<Record<PreviewRefusal, number>> = {
  unknown: 404,
  nothing_listening: 502,
  unreachable: 502,
  busy: 503,
  bad_request: 400,
  misdirected: 421,
  not_supported: 501,
};

const titles: Readonly<Record<PreviewRefusal, string>> = {
  unknown: 'No such preview',
  nothing_listening: 'Nothing is listening',
  unreachable: 'The sandbox does not answer',
  busy: 'Too many connections',
  bad_request: 'Bad request',
  misdirected: 'Another connection, please',
  not_supported: 'Not supported',
};

/** How long the page of a server that is not there yet waits before it looks again. */
const lookAgainSeconds = 3;

/** An answer of the gateway's own. */
export interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A page for browsers, JSON for everybody else. The message is ours: nothing that came from a visitor or a guest is in it. */
export function refusalOf(kind: PreviewRefusal, message: string, accept: string | undefined): Refusal {
  const forPeople = accept?.includes('text/html') === true;
  const body = forPeople ? page(kind, message) : `${JSON.stringify({ error: { type: kind, message } })}\n`;
  return {
    status: statuses[kind],
    headers: {
      'content-type': forPeople ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
      'referrer-policy': 'no-referrer',
      'x-mayfly-preview': kind,
      ...(kind === 'busy' ? { 'retry-after': '1' } : {}),
    },
    body,
  };
}

function page(kind: PreviewRefusal, message: string): string {
  const again = kind === 'nothing_listening';
  const refresh = again ? `<meta http-equiv="refresh" content="${lookAgainSeconds}">` : '';
  const hint = again
    ? `<p>Start a server on that port. This page looks again every ${lookAgainSeconds} seconds.</p>`
    : '';
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
