import { isIPv6 } from 'node:net';
import type { HttpApp } from '../http/http-app.ts';
import type { Config } from './config.ts';
import { StartError } from './start-error.ts';

type AddressSettings = Pick<Config, 'host' | 'port' | 'inheritedSockets' | 'apiTls' | 'publicUrl'>;

const anywhere = new Set(['0.0.0.0', '::']);

/** Starts listening and returns the URL of the API. */
export async function listen(app: HttpApp, config: AddressSettings): Promise<string> {
  const { host, port, inheritedSockets } = config;
  // With a descriptor, host and port say nothing to Node; Fastify would listen twice for the name localhost.
  const where = inheritedSockets.api === undefined ? { host, port } : { host: '', fd: inheritedSockets.api };
  try {
    await app.listen({ ...where, listenTextResolver: () => 'listening' });
  } catch (cause) {
    throw new StartError(explainListen(cause, host, port, 'MAYFLY'), { cause });
  }
  return apiUrl(app, config);
}

/** Where callers reach the API, without a trailing slash: the configured public URL, else the address it listens on. */
export function apiUrl(
  app: HttpApp,
  { host, port, apiTls, publicUrl }: Omit<AddressSettings, 'inheritedSockets'>,
): string {
  if (publicUrl !== undefined) return publicUrl;
  const address = app.server.address();
  const boundPort = typeof address === 'object' && address !== null ? address.port : port;
  const shownHost = anywhere.has(host) ? 'localhost' : isIPv6(host) ? `[${host}]` : host;
  return `${apiTls ? 'https' : 'http'}://${shownHost}:${boundPort}`;
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
