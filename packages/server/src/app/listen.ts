import { isIPv6 } from 'node:net';
import type { HttpApp } from '../http/http-app.ts';
import type { Config } from './config.ts';
import { StartError } from './start-error.ts';

const anywhere = new Set(['0.0.0.0', '::']);

/** Starts listening and gives the URL at which callers reach the service. */
export async function listen(app: HttpApp, { host, port, publicUrl }: Config): Promise<string> {
  try {
    await app.listen({ host, port, listenTextResolver: () => 'listening' });
  } catch (cause) {
    throw new StartError(explainListen(cause, host, port, 'MAYFLY_PORT'), { cause });
  }
  const address = app.server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  const shown = anywhere.has(host) ? 'localhost' : isIPv6(host) ? `[${host}]` : host;
  return publicUrl ?? `http://${shown}:${bound}`;
}

/** Why listening failed, and which setting helps. */
export function explainListen(cause: unknown, host: string, port: number, setting: string): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'EADDRINUSE') return `Port ${port} on ${host} is in use by another program. Set ${setting}.`;
  if (code === 'EACCES') return `This user may not listen on port ${port}. Set ${setting}.`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return `This machine has no address ${host}. Set MAYFLY_HOST.`;
  return `Cannot listen on ${host}:${port} (${cause instanceof Error ? cause.message : String(cause)}).`;
}

/** Takes no more connections, lets requests in flight finish until the deadline, then cuts what is left. */
export async function closeHttp(app: HttpApp, deadlineMs: number): Promise<void> {
  const closed = app.close();
  const timer = setTimeout(() => app.server.closeAllConnections(), deadlineMs);
  try {
    await closed;
  } finally {
    clearTimeout(timer);
  }
}
