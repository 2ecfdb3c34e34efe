import { hostOf, tokenOf } from '../preview-host.ts';
import { endToEnd, toNodeHeaders } from './hop-by-hop.ts';

/** The headers of a visitor's request, and what decides how the server in the sandbox sees them. */
export interface InboundHeaders {
  readonly rawHeaders: readonly string[];
  readonly token: string;
  /** The parent domain of all previews. */
  readonly domain: string;
  /** The port in the sandbox. */
  readonly port: number;
  /** The visitor's address, after those reported by trusted proxies. */
  readonly forwardedFor: string;
  /** Replaces the Origin if it is another preview; undefined leaves it as it is. */
  readonly foreignOrigin: string | undefined;
  /** Whether Authorization holds an API key of this service, which no sandbox may see. */
  readonly holdsApiKey: boolean;
}

/** Replaced by the gateway's own values: a visitor could forge them. */
const replaced = ['host', 'forwarded', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-forwarded-port'];
const dropped = ['x-forwarded-server', 'x-real-ip', 'via', 'expect', 'alt-used'];

/** The headers for the server in the sandbox. To the server it appears to be visited at localhost; it never learns the token. */
export function headersForGuest(inbound: InboundHeaders): Record<string, string | string[]> {
  const { token, domain, port } = inbound;
  const headers = endToEnd(inbound.rawHeaders);
  for (const name of [...headers.keys()]) if (name.startsWith(':')) headers.delete(name);
  for (const name of [...replaced, ...dropped]) headers.delete(name);
  if (inbound.holdsApiKey) headers.delete('authorization');
  const redact = redactor(token, domain, port);
  for (const [name, values] of headers) headers.set(name, values.map(redact));
  const cookies = headers.get('cookie');
  if (cookies !== undefined) headers.set('cookie', [cookies.join('; ')]);
  if (headers.has('origin') && inbound.foreignOrigin !== undefined) headers.set('origin', [inbound.foreignOrigin]);
  if (headers.get('referer')?.some((value) => tokenOf(hostOf(value), domain) !== undefined)) headers.delete('referer');
  headers.set('host', [`localhost:${port}`]);
  headers.set('x-forwarded-for', [inbound.forwardedFor]);
  headers.set('x-forwarded-proto', ['https']);
  headers.set('x-forwarded-host', [`localhost:${port}`]);
  return toNodeHeaders(headers);
}

/** Replaces the preview's own address, and its token alone, with localhost. */
function redactor(token: string, domain: string, port: number): (value: string) => string {
  const name = `${token}.${domain}`.replaceAll('.', String.raw`\.`);
  const own = new RegExp(`(https?://)?${name}(?::\\d+)?|${token}`, 'gi');
  return (value) => value.replace(own, (_found, scheme) => `${scheme === undefined ? '' : 'http://'}localhost:${port}`);
}
