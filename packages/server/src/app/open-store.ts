import { oneLine } from '../core/errors/one-line.ts';
import type { Log } from '../core/ports/log.ts';
import type { Store } from '../core/ports/store/store.ts';
import { openStore } from '../store/open.ts';
import type { Config } from './config.ts';
import type { DataFolder } from './data-folder.ts';
import { StartError } from './start-error.ts';

/** Opens the database that the settings name, by default the SQLite file; refuses one that belongs to another data folder. */
export async function openConfiguredStore(
  { databaseUrl }: Pick<Config, 'databaseUrl'>,
  folder: Pick<DataFolder, 'databasePath' | 'id'>,
  log: Log,
): Promise<Store> {
  const store = await open(databaseUrl ?? folder.databasePath, log);
  if (await store.owner.belongsTo(folder.id)) return store;
  await store.close();
  throw new StartError(
    'The database belongs to the service of another data folder, whose machines its records speak of. Set MAYFLY_DATA_DIR to that folder, or MAYFLY_DATABASE_URL to a database of its own.',
  );
}

async function open(place: string, log: Log): Promise<Store> {
  try {
    return await openStore(place, log);
  } catch (cause) {
    throw new StartError(`The database cannot be used: ${oneLine(cause)}`, { cause });
  }
}
