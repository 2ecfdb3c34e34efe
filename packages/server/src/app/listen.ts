import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type AddressInfo, createServer, isIPv6 } from 'node:net';
import type { HttpApp } from '../http/http-app.ts';
import { StartFailure } from '../process/start-failure.ts';
import type { Config } from './config.ts';

type AddressSettings = Pick<Config, 'host' | 'port' | 'inheritedSockets' | 'apiTls' | 'publicUrl'>;

const anywhere = new Set(['0.0.0.0', '::']);

/** Starts listening and returns the URL of the API. */
export async function listen(
  app: HttpApp,
  config: AddressSettings,
  addressesOf: (name: string) => Promise<readonly string[]> = lookupAll,
): Promise<string> {
  const { host, port, inheritedSockets } = config;
  const options = { listenTextResolver: () => 'listening' };
  const inherited = inheritedSockets.api?.map((fd): Place => ({ fd }));
  try {
    if (inherited !== undefined) await listenOnAll(app, config, inherited, options);
    else if (host === 'localhost') await listenOnAll(app, config, places(await addressesOf(host), port), options);
    else await app.listen({ ...options, host, port });
  } catch (cause) {
    throw new StartFailure(explainListen(cause, host, port, 'MAYFLY'), { cause });
  }
  if (inherited !== undefined) refuseOtherPort(boundPort(app, port), port, 'MAYFLY');
  return apiUrl(app, config);
}

async function lookupAll(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

/** What one server listens on: an address, or a socket that listens already. */
type Place = { readonly host: string; readonly port: number } | { readonly fd: number };

function places(addresses: readonly string[], port: number): readonly Place[] {
  return [...new Set(addresses)].map((host) => ({ host, port }));
}

/** Throws a StartFailure if an inherited socket is not on the configured port, as after a change of the setting under systemd. */
export function refuseOtherPort(inherited: number, configured: number, prefix: 'MAYFLY' | 'MAYFLY_PREVIEW'): void {
  if (configured === 0 || inherited === configured) return;
  throw new StartFailure(
    `systemd listens on port ${inherited}, but ${prefix}_PORT is ${configured}. Run npx mayfly install-service again: it tells systemd which ports to open.`,
  );
}

/**
 * Listens on the first address, and on the same port of each other one that is there. All connections are handed to the one server that has the limits; for the
 * name localhost Fastify would open a second server without them.
 */
async function listenOnAll(
  app: HttpApp,
  { port, apiTls }: AddressSettings,
  wanted: readonly Place[],
  options: { readonly listenTextResolver: () => string },
): Promise<void> {
  const [first = { host: '127.0.0.1', port }, ...others] = wanted;
  const further = others.map((place) => {
    // Half-open as in Node's own servers: an HTTP client may end its side of the connection after the request.
    const server = createServer({ allowHalfOpen: !apiTls, noDelay: true });
    server.on('connection', (socket) => app.server.emit('connection', socket));
    return { place, server };
  });
  const closed: Promise<unknown>[] = [];
  app.addHook('preClose', async () => {
    for (const { server } of further) closed.push(new Promise((resolve) => server.close(resolve)));
  });
  app.addHook('onClose', async () => void (await Promise.all(closed)));
  // With a descriptor, host and port say nothing to Node; without the empty host Fastify would also listen on localhost.
  await app.listen({ ...options, ...('fd' in first ? { host: '', fd: first.fd } : first) });
  for (const { place, server } of further) {
    server.maxConnections = app.server.maxConnections;
    // localhost may name an address that this host does not have.
    server.on('error', () => {});
    server.listen('fd' in place ? { fd: place.fd } : { host: place.host, port: boundPort(app, port) });
    await once(server, 'listening').catch(() => {});
  }
}

function boundPort(app: HttpApp, configured: number): number {
  const address = app.server.address();
  return typeof address === 'object' && address !== null ? address.port : configured;
}

/** Where callers reach the API, without a trailing slash: the configured public URL, else the address it listens on. */
export function apiUrl(
  app: HttpApp,
  { host, port, apiTls, publicUrl }: Omit<AddressSettings, 'inheritedSockets'>,
): string {
  if (publicUrl !== undefined) return publicUrl;
  const shownHost = anywhere.has(host) ? 'localhost' : isIPv6(host) ? `[${host}]` : host;
  return `${apiTls ? 'https' : 'http'}://${shownHost}:${boundPort(app, port)}`;
}

/**
 * Where processes on this host reach the API, without a trailing slash: an address that this service itself listens on, so that nobody else answers
 * there. With TLS it is the public URL if there is one, because the certificate is for its name.
 */
export function localUrlOf(app: HttpApp, { apiTls, publicUrl }: Pick<AddressSettings, 'apiTls' | 'publicUrl'>): string {
  if (apiTls && publicUrl !== undefined) return publicUrl;
  const { address, port } = app.server.address() as AddressInfo;
  const reached = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address;
  return `${apiTls ? 'https' : 'http'}://${isIPv6(reached) ? `[${reached}]` : reached}:${port}`;
}

/** Why listening failed, and which settings to change: those that start with the prefix and end with _HOST and _PORT. */
export function explainListen(cause: unknown, host: string, port: number, prefix: 'MAYFLY' | 'MAYFLY_PREVIEW'): string {
  const setting = `${prefix}_PORT`;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'EADDRINUSE') {
    return `Port ${port} on ${host} is used by another program. Stop it, or set ${setting} to another port.`;
  }
  if (code === 'EACCES')
    return `This user may not listen on port ${port}. Run as root, or set ${setting} to another port.`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return `This machine has no address ${host}. Set ${prefix}_HOST to one of its addresses.`;
  }
  const reason = cause instanceof Error ? cause.message : String(cause);
  return `Listening on ${host}:${port} failed (${reason}). Check ${prefix}_HOST and ${setting}.`;
}
