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

const headersWithUrls = ['location', 'content-location', 'refresh'];

/** The headers for the visitor: localhost URLs become the preview's URL, and cookies are limited to its host. */
export function headersForVisitor(outbound: OutboundHeaders): Record<string, string | string[]> {
  const { rawHeaders, publicHost, port, origin } = outbound;
  const headers = endToEnd(rawHeaders);
  // An alternative service would bypass the gateway.
  headers.delete('alt-svc');
  for (const name of headersWithUrls) {
    const values = headers.get(name)?.map((value) => toPublicUrl(value, publicHost, port));
    if (values) headers.set(name, values);
  }
  const cookies = headers.get('set-cookie');
  if (cookies) headers.set('set-cookie', cookies.map(hostOnly));
  if (origin !== undefined && headers.get('access-control-allow-origin')?.[0] === origin.seen) {
    headers.set('access-control-allow-origin', [origin.sent]);
  }
  return toNodeHeaders(headers);
}

/** Matches a localhost URL at the start of a value, or after the `url=` of a Refresh header. */
const localhost =
  /(?<=^|\burl\s*=\s*["']?)(https?):\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(?::(\d+))?(?=[/?#"']|$)/i;

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
