import type { PostgresPoolClient, PostgresQueryResult } from 'kysely';
import pg from 'pg';

/** A pooled connection while somebody uses it. Once it fails below SQL it fails at once, and is not given back for others. */
export class PoolConnection implements PostgresPoolClient {
  readonly #client: pg.PoolClient;
  #lost: Error | undefined;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  query<Row>(sql: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<Row>>;
  query(cursor: object): never;
  query(sql: string | object, parameters: readonly unknown[] = []): Promise<PostgresQueryResult<never>> {
    if (typeof sql !== 'string') throw new TypeError('cursors are not supported');
    return this.#run(sql, parameters);
  }

  release(): void {
    this.#client.release(this.#lost);
  }

  async #run(sql: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<never>> {
    if (this.#lost) throw this.#lost;
    try {
      const { command, rowCount, rows } = await this.#client.query(sql, parameters.map(withoutNul));
      return { command: command as 'SELECT', rowCount: rowCount ?? 0, rows: rows as never[] };
    } catch (error) {
      if (!leavesConnectionUsable(error)) this.#lost = error instanceof Error ? error : new Error(String(error));
      throw error;
    }
  }
}

/** PostgreSQL's text has no NUL. Nothing is found by one, and one that is kept shows as what it is: no character. */
function withoutNul(value: unknown): unknown {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value;
}

/** Whether the server refused a statement and goes on to serve the connection. */
function leavesConnectionUsable(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.severity === 'ERROR';
}
