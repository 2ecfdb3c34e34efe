import { Socket } from 'node:net';
import type { PostgresPool, PostgresPoolClient } from 'kysely';
import pg from 'pg';
import type { Log } from '../../core/ports/log.ts';
import { PoolConnection } from './connection.ts';
import { integerTypes } from './integers.ts';

/** How long each kind of wait may take. */
export interface PoolDeadlines {
  /** Until there is a connection, whether a new one or one that another request gives back. */
  readonly connectMs: number;
  /** Until the server gives up on a statement. */
  readonly statementMs: number;
  /** Until the server ends a transaction that does nothing. */
  readonly idleInTransactionMs: number;
  /** Until a server that does not even give up is given up on; longer than `statementMs`. */
  readonly answerMs: number;
  /** Until connections are cut at the end. */
  readonly closeMs: number;
}

export interface PoolOptions {
  readonly url: string;
  readonly maxConnections: number;
  readonly deadlines: PoolDeadlines;
  readonly log: Log;
}

const keepAliveMs = 10_000;

/** PostgreSQL connections in the shape that Kysely's dialect takes. Every wait ends; a lost connection is never used again. */
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
    this.#pool.on('error', (error) => log.warn({ reason: error.message }, 'database_connection_lost'));
    // One that is lost while in use fails its queries; the event itself would end the process if nobody listened.
    this.#pool.on('connect', (client) => client.on('error', () => undefined));
  }

  async connect(): Promise<PostgresPoolClient> {
    return new PoolConnection(await this.#pool.connect());
  }

  /** Lets what is in use finish, then closes; cuts what has not closed in time. */
  async end(): Promise<void> {
    const cut = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, this.#closeMs);
    await this.#pool.end();
    // What the pool has let go of may still be open: a server that is silent, a sign-in that was never finished.
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

/** Closes once all that was written is on its way, whether the other end closes or not. */
function closeSoon(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', () => resolve());
    socket.destroySoon();
  });
}
