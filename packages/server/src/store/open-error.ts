/** A database that cannot be used; its one-line message says why and what to do, and holds no secret. */
export class StoreOpenError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StoreOpenError';
  }
}
