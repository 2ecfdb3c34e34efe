import type { SecureContext } from 'node:tls';

/** A certificate (with its chain) and its key, as PEM. */
export interface PemPair {
  readonly cert: string;
  /** Secret. */
  readonly key: string;
}

/** Certificates for the names that clients ask for. */
export interface Certificates extends Disposable {
  /** For the name of a TLS client's hello; any name, also none or a hostile one, gets some certificate. */
  contextFor(servername: string | undefined): Promise<SecureContext>;
  /** What a TLS server shows clients that name nothing, about whom Node asks nobody. Good for weeks: take it anew each day. */
  pairForNoName(): Promise<PemPair>;
  /** The PEM file of the local authority's root, for clients to trust; undefined with the operator's own certificate. */
  readonly rootFile: string | undefined;
}
