import type { ConnectionOptions } from 'node:tls';

/** A preview and whose certificates its visitor trusts: PEM; without any, everybody's. */
export interface Place {
  readonly url: string;
  readonly ca?: string | undefined;
}

/** How a connection to a preview is made; names below localhost are this machine whatever the resolver thinks. */
export const routeTo = ({ url, ca }: Place): ConnectionOptions & { readonly host: string; readonly port: number } => {
  const { hostname, port } = new URL(url);
  return {
    host: /(^|\.)localhost$/.test(hostname) ? '127.0.0.1' : hostname,
    servername: hostname,
    port: Number(port || 443),
    ...(ca === undefined ? { rejectUnauthorized: false } : { ca }),
  };
};
