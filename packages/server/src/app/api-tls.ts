import { X509Certificate } from 'node:crypto';
import { Server } from 'node:https';
import type { Log } from '../core/ports/runtime.ts';
import { repeat } from '../core/scheduling/repeat.ts';
import type { Certificates } from '../gateway/tls/certificates.ts';
import type { ApiTls, HttpApp } from '../http/http-app.ts';
import type { Config } from './config.ts';

/** How often the certificate for clients without a server name is refreshed. All others get a new one as soon as it is loaded. */
const refreshMs = 60_000;

/** The certificate of the API, or undefined if it speaks plain HTTP. Warns if it is for other names. */
export async function openApiTls(
  { apiTls, publicUrl }: Pick<Config, 'apiTls' | 'publicUrl'>,
  certificates: Certificates,
  log: Log,
): Promise<ApiTls | undefined> {
  if (!apiTls) return undefined;
  const { cert, key } = await certificates.defaultPair();
  const name = publicUrl === undefined ? undefined : new URL(publicUrl).hostname;
  if (name !== undefined && !covers(new X509Certificate(cert), name)) {
    log.warn({ name }, 'certificate_does_not_cover_api');
  }
  return { cert, key, contextFor: (servername) => certificates.contextFor(servername) };
}

function covers(certificate: X509Certificate, name: string): boolean {
  const address = name.replace(/^\[|\]$/g, '');
  return certificate.checkHost(name) !== undefined || certificate.checkIP(address) !== undefined;
}

/** Keeps the certificate of a running API up to date. */
export function refreshApiTls(app: HttpApp, certificates: Certificates, log: Log): AsyncDisposable {
  const server: unknown = app.server;
  const refresh = async (): Promise<void> => {
    const { cert, key } = await certificates.defaultPair();
    if (server instanceof Server) server.setSecureContext({ cert, key, minVersion: 'TLSv1.2' });
  };
  return repeat('api_certificate_refresh', refreshMs, refresh, log);
}
