import { endToEnd, toNodeHeaders } from './hop-by-hop.ts';

/** The headers of an answer from a sandbox, and what decides how the visitor sees them. */
export interface OutboundHeaders {
  readonly rawHeaders: readonly string[];
  readonly publicHost: string;
  /** The port in the sandbox. */
  readonly port: number;
  /** The Origin as the visitor sent it, and as the server saw it. */
  readonly origin: { readonly sent: string; readonly seen: string } | undefined;
}

/** The headers for the visitor: localhost URLs become the preview's URL, and cookies are limited to its host. */
export function headersForVisitor(outbound: OutboundHeaders): Record<string, string | string[]> {
  const { rawHeaders, publicHost, port, origin } = outbound;
  const headers = endToEnd(rawHeaders);
  // An alternative service would bypass the gateway.
  headers.delete('alt-svc');
  const rewrite = (name: string, toPublic: (value: string) => string) => {
    const values = headers.get(name)?.map(toPublic);
    if (values) headers.set(name, values);
  };
  const toPublic = (url: string) => toPublicUrl(url, publicHost, port);
  rewrite('location', toPublic);
  rewrite('content-location', toPublic);
  rewrite('refresh', (value) => {
    const [before = ''] = beforeRefreshUrl.exec(value) ?? [];
    return `${before}${toPublic(value.slice(before.length))}`;
  });
  const cookies = headers.get('set-cookie');
  if (cookies) headers.set('set-cookie', cookies.map(hostOnly));
  if (origin !== undefined && headers.get('access-control-allow-origin')?.[0] === origin.seen) {
    headers.set('access-control-allow-origin', [origin.sent]);
  }
  return toNodeHeaders(headers);
}

/** Matches what precedes the URL of a Refresh header, such as `5; url="`. Anchored, so that a long header costs no more than it is long. */
const beforeRefreshUrl = /^[^;,]{0,32}[;,]\s*url\s*=\s*["']?/i;

const localhost = /^(https?):\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(?::(\d+))?(?=[/?#"']|$)/i;

function toPublicUrl(value: string, publicHost: string, port: number): string {
  return value.replace(localhost, (url, scheme, explicitPort) => {
    const defaultPort = String(scheme).toLowerCase() === 'https' ? 443 : 80;
    return Number(explicitPort ?? defaultPort) === port ? `https://${publicHost}` : url;
  });
}

/** Removes the Domain attribute, so that no other host receives the cookie. */
function hostOnly(cookie: string): string {
  return cookie.replaceAll(/;\s*domain\s*(?:=[^;]*)?(?=;|$)/gi, '');
}
