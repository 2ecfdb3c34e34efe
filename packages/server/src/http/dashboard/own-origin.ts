import type { FastifyRequest } from 'fastify';
import { DashboardError } from '../../core/errors/dashboard-error.ts';

/** Where the dashboard is, as its own pages see it. */
export interface OwnAddress {
  /** Whether the connection to this service is encrypted. */
  readonly isTls: boolean;
  /** The public URL of the API. */
  readonly publicUrl: () => string;
}

/**
 * Throws a 403 unless the request comes from a page of the dashboard itself. Browsers let any page send requests with the session's cookie, so what changes
 * something must name its origin. One that only reads must not come from elsewhere; no page can read its answer without permission.
 */
export function requireOwnOrigin(
  request: FastifyRequest,
  address: OwnAddress,
  { changes }: { changes: boolean },
): void {
  const { origin, host = '', 'sec-fetch-site': site } = request.headers;
  const isOwnSite = site === undefined || site === 'same-origin' || (!changes && site === 'none');
  const isOwnOrigin = origin === undefined ? !changes : isOwn(origin, host, address);
  if (isOwnSite && isOwnOrigin) return;
  throw new DashboardError(
    'cross_origin_request',
    `This request does not come from the dashboard at ${originOf(address.publicUrl())}. Use the dashboard at that address; behind a proxy, set MAYFLY_PUBLIC_URL to the address that people use.`,
  );
}

/**
 * The public URL counts whatever Host a proxy sends. Another Host is a way to this service without the proxy; for the public one the public scheme counts,
 * because behind a proxy this connection has another.
 */
function isOwn(origin: string, host: string, { isTls, publicUrl }: OwnAddress): boolean {
  const published = originOf(publicUrl());
  if (origin === published) return true;
  const asked = originOf(`${isTls ? 'https' : 'http'}://${host}`);
  return asked !== undefined && origin === asked && new URL(asked).host !== hostOf(published);
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

function hostOf(origin: string | undefined): string | undefined {
  return origin === undefined ? undefined : new URL(origin).host;
}
