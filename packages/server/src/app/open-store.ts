import { oneLine } from '../core/errors/api-error.ts';
import type { Metrics } from '../core/ports/metrics.ts';
import type { Log } from '../core/ports/runtime.ts';
import type { Store } from '../core/ports/store/store.ts';
import { StartFailure } from '../process/start-failure.ts';
import { openPostgresStore } from '../store/postgres/open.ts';
import { StoreOpenError } from '../store/sql/database.ts';
import { openSqliteStore } from '../store/sqlite/open.ts';
import type { Config } from './config.ts';
import type { DataFolder } from './data-folder.ts';

/** Opens the configured database, by default the SQLite file of the data folder. Throws a StartFailure if it belongs to another data folder. */
export async function openConfiguredStore(
  { databaseUrl }: Pick<Config, 'databaseUrl'>,
  folder: Pick<DataFolder, 'databasePath' | 'id'>,
  log: Log,
  metrics: Pick<Metrics, 'storeFailed'>,
): Promise<Store> {
  const onFailure = (operation: string) => metrics.storeFailed(operation);
  const store = await openStore(databaseUrl ?? folder.databasePath, log, onFailure).catch((cause: unknown) => {
    const message = cause instanceof StoreOpenError ? cause.message : `The database cannot be used: ${oneLine(cause)}`;
    const isTemporary = cause instanceof StoreOpenError && cause.isTemporary;
    throw new StartFailure(message, { cause, mayPass: isTemporary });
  });
  if (await store.owner.belongsTo(folder.id)) return store;
  await store.close();
  throw new StartFailure(
    'The database belongs to another data folder: its records describe the machines of that folder. Set MAYFLY_DATA_DIR to that folder, or MAYFLY_DATABASE_URL to another database.',
  );
}

/** Opens the store at a location: PostgreSQL for a URL `postgres://…`, else the SQLite file of that path. Throws a StoreOpenError. */
function openStore(location: string, log: Log, onFailure: (operation: string) => void): Promise<Store> {
  const isPostgres = /^postgres(ql)?:\/\//i.test(location);
  return isPostgres ? openPostgresStore(location, { log, onFailure }) : openSqliteStore(location, onFailure);
}
