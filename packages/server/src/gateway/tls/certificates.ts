import type { SecureContext } from 'node:tls';

/** A certificate (with its chain) and its key, as PEM. */
export interface PemPair {
  readonly cert: string;
  /** Secret. */
  readonly key: string;
}

/** Certificates for the names that TLS clients ask for. */
export interface Certificates extends Disposable {
  /** The context for a server name. Every name gets a certificate, even a missing or a hostile one. */
  contextFor(servername: string | undefined): Promise<SecureContext>;
  /** The certificate for clients that send no server name: Node does not ask for their context. Valid for weeks; refresh it daily. */
  defaultPair(): Promise<PemPair>;
  /** The local authority's root certificate (PEM), for clients to trust; undefined with the operator's certificate. */
  readonly rootFile: string | undefined;
}

/** Thrown when certificates cannot be loaded or created. The message says which file is wrong, why, and what to do. */
export class CertificateError extends Error {
  /** Whether a later attempt may succeed though nobody changed a setting: the files are being renewed. */
  readonly isTemporary: boolean;

  constructor(message: string, { isTemporary = false, ...options }: ErrorOptions & { isTemporary?: boolean } = {}) {
    super(message, options);
    this.name = 'CertificateError';
    this.isTemporary = isTemporary;
  }
}
