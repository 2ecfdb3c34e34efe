import pg from 'pg';
import { StoreOpenError } from '../sql/database.ts';

/** The location of a database, without its password. */
export interface DatabasePlace {
  /** A host name, an address, or the folder of a unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
}

const setting = 'MAYFLY_DATABASE_URL';

/** The location that a URL points to, with defaults filled in. Throws if it is not a URL. */
export function placeOf(url: string): DatabasePlace {
  try {
    const { host, port, user = '', database = '' } = new pg.Client({ connectionString: url });
    return { host, port, user, database };
  } catch {
    // No cause: the original error contains the URL and thereby the password.
    throw new StoreOpenError(`${setting} must be a URL like postgres://user:password@host:5432/database.`);
  }
}

/** Explains in one line why a database could not be opened and what to do. */
export function explain(error: unknown, place: DatabasePlace): StoreOpenError {
  if (error instanceof StoreOpenError) return error;
  const reason = reasonOf(error);
  const server = place.host.startsWith('/') ? `in ${place.host}` : `at ${place.host}:${place.port}`;
  const advice = adviceFor(error, reason, place);
  return new StoreOpenError(`PostgreSQL ${server}: ${reason}. ${advice}`, {
    cause: error,
    isTemporary: mayPass(error, reason),
  });
}

/** Classes of codes of a server that is starting, stopping, overloaded, or not the primary one at the moment. */
const temporaryCodes = /^(?:08|25006|40|53|55|57|58)/;

/** Whether the server may be reachable later: the network and the server's state change, passwords and certificates do not. */
function mayPass(error: unknown, reason: string): boolean {
  if (error instanceof pg.DatabaseError) return temporaryCodes.test(error.code ?? '');
  return !/password|SSL|certificate|self-signed/i.test(reason);
}

function adviceFor(error: unknown, reason: string, { user, database }: DatabasePlace): string {
  if (!(error instanceof pg.DatabaseError)) {
    if (/password/.test(reason)) return `Set the password of user "${user}" in ${setting}.`;
    if (/SSL|certificate|self-signed/i.test(reason))
      return `Check sslmode in ${setting}, and the server's certificate.`;
    return `Start the server, or correct host and port in ${setting}.`;
  }
  switch (error.code ?? '') {
    case '28P01':
    case '28000':
      return `Correct user and password in ${setting}, or allow "${user}" in pg_hba.conf.`;
    case '3D000':
      return `Create the database (createdb --owner ${user} ${database}), or correct its name in ${setting}.`;
    case '42501':
      return `Make "${user}" the owner of database "${database}".`;
    case '53300':
      return 'Raise max_connections of the server, or close other connections.';
    case '57P03':
      return 'Wait until the server is ready, then try again.';
    case '25006':
      return `This server is read-only. Set ${setting} to the primary server.`;
    default:
      return `See the server's log (code ${error.code ?? 'unknown'}).`;
  }
}

/** The message of an error on one line. An error that covers several addresses has only a code. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return (error.message || code).replaceAll(/\s+/g, ' ').replace(/\.$/, '');
}
