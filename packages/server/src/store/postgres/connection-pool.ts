import { Socket } from 'node:net';
import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import pg from 'pg';
import type { Log } from '../../core/ports/runtime.ts';

/** The deadline of each kind of wait. */
export interface PoolDeadlines {
  /** For a connection: a new one, or one that another request returns to the pool. */
  readonly connectMs: number;
  /** For a statement, enforced by the server. */
  readonly statementMs: number;
  /** For an idle transaction, enforced by the server. */
  readonly idleInTransactionMs: number;
  /** For an answer of the server, enforced by the client; longer than `statementMs`. */
  readonly answerMs: number;
  /** For an orderly close; after it connections are cut. */
  readonly closeMs: number;
}

export interface PoolOptions {
  readonly url: string;
  readonly maxConnections: number;
  readonly deadlines: PoolDeadlines;
  readonly log: Log;
}

const keepAliveMs = 10_000;

/** A connection pool for Kysely's PostgreSQL dialect. Every wait has a deadline; a lost connection is never reused. */
export class DeadlinePool implements PostgresPool {
  readonly #pool: pg.Pool;
  readonly #sockets = new Set<Socket>();
  readonly #closeMs: number;

  constructor({ url, maxConnections, deadlines, log }: PoolOptions) {
    this.#closeMs = deadlines.closeMs;
    this.#pool = new pg.Pool({
      connectionString: url,
      application_name: 'mayfly',
      max: maxConnections,
      connectionTimeoutMillis: deadlines.connectMs,
      statement_timeout: deadlines.statementMs,
      idle_in_transaction_session_timeout: deadlines.idleInTransactionMs,
      query_timeout: deadlines.answerMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
      types: integerTypes,
      stream: () => this.#openSocket(),
    });
    this.#pool.on('error', (error) => log.warn({ err: error }, 'database_connection_lost'));
    // The queries of a lost connection fail. Without a listener the event itself would end the process.
    this.#pool.on('connect', (client) => client.on('error', () => undefined));
  }

  async connect(): Promise<PostgresPoolClient> {
    return new PoolConnection(await this.#pool.connect());
  }

  /** Closes connections once they are unused, and cuts those that have not closed by the deadline. */
  async end(): Promise<void> {
    const cut = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, this.#closeMs);
    await this.#pool.end();
    // Sockets may outlive the pool: of a server that does not answer, or of an unfinished login.
    await Promise.all(Array.from(this.#sockets, closeSoon));
    clearTimeout(cut);
  }

  #openSocket(): Socket {
    const socket = new Socket();
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }
}

/** Closes a socket once pending data is sent, without waiting for the other end. */
function closeSoon(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', () => resolve());
    socket.destroySoon();
  });
}

/** A pooled connection in use. After a connection error every query fails at once, and the connection is not reused. */
class PoolConnection implements PostgresPoolClient {
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

/** PostgreSQL text cannot hold NUL. It is replaced by U+FFFD, so that a lookup finds nothing and a write succeeds. */
function withoutNul(value: unknown): unknown {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value;
}

/** Whether only the statement failed and the server keeps serving the connection. */
function leavesConnectionUsable(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.severity === 'ERROR';
}

/** Parses 64-bit integers as numbers; by default pg returns strings. */
const integerTypes: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? parseInteger : pg.types.getTypeParser(oid, format),
};

/** Throws on an integer that a number cannot represent exactly. */
export function parseInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} cannot be represented exactly as a number`);
  return value;
}
