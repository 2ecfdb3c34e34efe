import { tokenOf } from '../host.ts';
import { endToEnd, toNodeHeaders } from './hop-by-hop.ts';

/** A visitor's request on its way into a sandbox. */
export interface Arrival {
  readonly rawHeaders: readonly string[];
  readonly token: string;
  /** The domain of all previews. */
  readonly domain: string;
  /** The port in the sandbox. */
  readonly port: number;
  /** The visitor, after those that trusted proxies tell of. */
  readonly forwardedFor: string;
  /** How the server is to see the Origin, if there is one and it is another than the preview's own. */
  readonly foreignOrigin: string | undefined;
}

/** What a visitor may claim about its way here, or what only the gateway needs. */
const replaced = ['host', 'forwarded', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-forwarded-port'];
const dropped = ['x-forwarded-server', 'x-real-ip', 'via', 'expect', 'alt-used'];
const apiKey = /^bearer\s+mf_/i;

/** The headers that the server in the sandbox sees: it believes to be visited at localhost, and never learns the token. */
export function headersForGuest(arrival: Arrival): Record<string, string | string[]> {
  const { token, domain, port } = arrival;
  const headers = endToEnd(arrival.rawHeaders);
  for (const name of [...headers.keys()]) if (name.startsWith(':')) headers.delete(name);
  for (const name of [...replaced, ...dropped]) headers.delete(name);
  if (apiKey.test(headers.get('authorization')?.[0] ?? '')) headers.delete('authorization');
  const hide = hider(token, domain, port);
  for (const [name, values] of headers) headers.set(name, values.map(hide));
  const cookies = headers.get('cookie');
  if (cookies !== undefined) headers.set('cookie', [cookies.join('; ')]);
  if (headers.has('origin') && arrival.foreignOrigin !== undefined) headers.set('origin', [arrival.foreignOrigin]);
  if (headers.get('referer')?.some((value) => tokenOf(hostOf(value), domain) !== undefined)) headers.delete('referer');
  headers.set('host', [`localhost:${port}`]);
  headers.set('x-forwarded-for', [arrival.forwardedFor]);
  headers.set('x-forwarded-proto', ['https']);
  headers.set('x-forwarded-host', [`localhost:${port}`]);
  return toNodeHeaders(headers);
}

/** Puts localhost where a text has the preview's own address, or its token alone. */
function hider(token: string, domain: string, port: number): (value: string) => string {
  const name = `${token}.${domain}`.replaceAll('.', String.raw`\.`);
  const own = new RegExp(`(https?://)?${name}(?::\\d+)?|${token}`, 'gi');
  return (value) => value.replace(own, (_found, scheme) => `${scheme === undefined ? '' : 'http://'}localhost:${port}`);
}

/** The host of a URL, or undefined. */
export function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).host : undefined;
}
