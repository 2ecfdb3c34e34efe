import type { Snapshot } from '../api/resources.ts';
import { type Connection, path, type RequestOptions } from '../http/connection.ts';
import { type Listing, listing } from '../http/pages.ts';
import { request, requestRemoval } from '../http/request.ts';

/** The snapshots of the account. They are taken with `sandbox.snapshot()`. */
export class Snapshots {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get(id: string, options: RequestOptions = {}): Promise<Snapshot> {
    return request(this.#connection, { method: 'GET', path: path`/snapshots/${id}`, repeatable: true, ...options });
  }

  /** The snapshots, newest first. Iterate over them, or get all with `all()`. */
  list(options: RequestOptions = {}): Listing<Snapshot> {
    return listing(this.#connection, { path: '/snapshots', ...options }, (snapshot: Snapshot) => snapshot);
  }

  /** Deletes a snapshot. Sandboxes that were made from it go on. */
  async delete(id: string, options: RequestOptions = {}): Promise<void> {
    await requestRemoval(this.#connection, { path: path`/snapshots/${id}`, ...options });
  }
}
