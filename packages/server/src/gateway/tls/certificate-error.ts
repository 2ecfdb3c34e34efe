/** Certificates that cannot be had; its message says which file is wrong with what, and what to do. */
export class CertificateError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CertificateError';
  }
}
