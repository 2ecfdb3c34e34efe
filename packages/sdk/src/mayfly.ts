import type { Account, Usage } from './api/resources.ts';
import { Command } from './commands/command.ts';
import type { Call, Connection, RequestOptions } from './http/connection.ts';
import { request, requestJson } from './http/request.ts';
import { Sandboxes } from './sandboxes/sandboxes.ts';
import { Snapshots } from './sandboxes/snapshots.ts';
import { connectionOf, type MayflyOptions } from './settings.ts';

/** The client of a Mayfly service. */
export class Mayfly {
  readonly sandboxes: Sandboxes;
  readonly snapshots: Snapshots;
  /** The URL of the service, with its version prefix. */
  readonly baseUrl: string;
  readonly #connection: Connection;

  constructor(options: MayflyOptions = {}) {
    this.#connection = connectionOf(options);
    this.baseUrl = this.#connection.baseUrl;
    this.sandboxes = new Sandboxes(this.#connection);
    this.snapshots = new Snapshots(this.#connection);
  }

  /** The account of the key, with its balance, limits and prices. */
  account(options: RequestOptions = {}): Promise<Account> {
    return request(this.#connection, { method: 'GET', path: '/account', repeatable: true, ...options });
  }

  /** Attaches to a command by the id of its execution, whichever sandbox it runs in. */
  command(id: string): Command {
    return new Command(this.#connection, id, async (error) => error);
  }

  /** What was used in the last days, 30 unless given. */
  usage({ days, ...options }: RequestOptions & { readonly days?: number | undefined } = {}): Promise<Usage> {
    return request(this.#connection, { method: 'GET', path: '/usage', query: { days }, repeatable: true, ...options });
  }

  /**
   * Makes any request to the API and returns its JSON as the service sent it, for operations that have no method here. Repeated after a lost
   * connection only if `repeatable`, which is true for GET, PUT and DELETE unless given.
   */
  async request(method: Call['method'], path: string, options: RawRequestOptions = {}): Promise<unknown> {
    const repeatable = options.repeatable ?? (method === 'GET' || method === 'PUT' || method === 'DELETE');
    return (await requestJson(this.#connection, { ...options, repeatable, method, path })).body;
  }
}

export interface RawRequestOptions extends RequestOptions, Pick<Call, 'query' | 'body' | 'headers'> {
  /** Whether the request may be sent again when it may have been carried out already. */
  readonly repeatable?: boolean | undefined;
}
