import pg from 'pg';
import { StoreOpenError } from '../open-error.ts';

/** Where a database is, without its password. */
export interface DatabasePlace {
  /** A host name, an address, or the folder of a socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
}

const setting = 'MAYFLY_DATABASE_URL';

/** Where a URL points to, with the defaults that fill it up. Throws on what is no URL. */
export function placeOf(url: string): DatabasePlace {
  try {
    const { host, port, user = '', database = '' } = new pg.Client({ connectionString: url });
    return { host, port, user, database };
  } catch {
    // What was thrown holds the URL, and that the password.
    throw new StoreOpenError(`${setting} is no URL like postgres://user:password@host:5432/database. Correct it.`);
  }
}

/** Says in one line why a database could not be opened and what to do about it. */
export function explain(error: unknown, place: DatabasePlace): StoreOpenError {
  if (error instanceof StoreOpenError) return error;
  const reason = reasonOf(error);
  const server = place.host.startsWith('/') ? `in ${place.host}` : `at ${place.host}:${place.port}`;
  const advice = adviceFor(error, reason, place);
  return new StoreOpenError(`PostgreSQL ${server}: ${reason}. ${advice}`, { cause: error });
}

function adviceFor(error: unknown, reason: string, { user, database }: DatabasePlace): string {
  if (!(error instanceof pg.DatabaseError)) {
    if (/password/.test(reason)) return `Give the password of user "${user}" in ${setting}.`;
    if (/SSL|certificate|self-signed/i.test(reason))
      return `Correct sslmode in ${setting}, or the server's certificate.`;
    return `Start it, or correct host and port in ${setting}.`;
  }
  switch (error.code ?? '') {
    case '28P01':
    case '28000':
      return `Correct user and password in ${setting}, or let "${user}" in with pg_hba.conf.`;
    case '3D000':
      return `Create it (createdb --owner ${user} ${database}), or correct its name in ${setting}.`;
    case '42501':
      return `Make "${user}" the owner of database "${database}".`;
    case '53300':
      return 'Raise max_connections of the server, or end what else is connected.';
    case '57P03':
      return 'Wait until the server has started, then try again.';
    case '25006':
      return `Name the primary server in ${setting}; this one is read-only.`;
    default:
      return `Look into the server's log (${error.code ?? 'no code'}).`;
  }
}

/** The message of an error on one line; an attempt at several addresses has only a code. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return (error.message || code).replaceAll(/\s+/g, ' ').replace(/\.$/, '');
}
