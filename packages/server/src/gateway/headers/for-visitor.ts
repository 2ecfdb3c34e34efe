import { endToEnd, toNodeHeaders } from './hop-by-hop.ts';

/** An answer on its way out of a sandbox. */
export interface Departure {
  readonly rawHeaders: readonly string[];
  readonly publicHost: string;
  /** The port in the sandbox. */
  readonly port: number;
  /** The Origin as the visitor sent it, and as the server saw it. */
  readonly origin: { readonly sent: string; readonly seen: string } | undefined;
}

const addresses = ['location', 'content-location', 'refresh'];

/** The headers that the visitor sees: what the server says of localhost is said of the preview, and cookies stay with it. */
export function headersForVisitor({
  rawHeaders,
  publicHost,
  port,
  origin,
}: Departure): Record<string, string | string[]> {
  const headers = endToEnd(rawHeaders);
  // An alternative service would lead visitors past the gateway.
  headers.delete('alt-svc');
  for (const name of addresses) {
    const values = headers.get(name);
    if (values)
      headers.set(
        name,
        values.map((value) => shown(value, publicHost, port)),
      );
  }
  const cookies = headers.get('set-cookie');
  if (cookies) headers.set('set-cookie', cookies.map(hostOnly));
  if (origin !== undefined && headers.get('access-control-allow-origin')?.[0] === origin.seen) {
    headers.set('access-control-allow-origin', [origin.sent]);
  }
  return toNodeHeaders(headers);
}

/** Where a header's address begins: at its start, or behind the `url=` of a Refresh. */
const localhost =
  /(?<=^|\burl\s*=\s*["']?)(https?):\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(?::(\d+))?(?=[/?#"']|$)/i;

/** An address on the server's own localhost, as the preview's. */
function shown(value: string, publicHost: string, port: number): string {
  return value.replace(localhost, (url, scheme, named) => {
    const usual = String(scheme).toLowerCase() === 'https' ? 443 : 80;
    return Number(named ?? usual) === port ? `https://${publicHost}` : url;
  });
}

/** A cookie that no other host is sent, whatever the server asked for. */
function hostOnly(cookie: string): string {
  return cookie.replaceAll(/;\s*domain\s*(?:=[^;]*)?(?=;|$)/gi, '');
}
