import type { Log } from '../core/ports/log.ts';
import type { Store } from '../core/ports/store/store.ts';
import { openPostgresStore } from './postgres/open.ts';
import { openSqliteStore } from './sqlite/open.ts';

/** Opens the store at a place: PostgreSQL for a URL `postgres://…`, else the SQLite file of that path. Throws a StoreOpenError. */
export function openStore(place: string, log: Log): Promise<Store> {
  return /^postgres(ql)?:\/\//i.test(place) ? openPostgresStore(place, { log }) : openSqliteStore(place);
}
