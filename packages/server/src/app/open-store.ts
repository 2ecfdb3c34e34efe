import { oneLine } from '../core/errors/one-line.ts';
import type { Log } from '../core/ports/log.ts';
import type { Store } from '../core/ports/store/store.ts';
import { openStore } from '../store/open.ts';
import type { Config } from './config.ts';
import { StartError } from './start-error.ts';

/** Opens the database that the settings name, by default the SQLite file. */
export async function openConfiguredStore(
  { databaseUrl }: Pick<Config, 'databaseUrl'>,
  sqlitePath: string,
  log: Log,
): Promise<Store> {
  try {
    return await openStore(databaseUrl ?? sqlitePath, log);
  } catch (cause) {
    throw new StartError(`The database cannot be used: ${oneLine(cause)}`, { cause });
  }
}
