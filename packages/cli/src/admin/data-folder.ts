import { resolve } from 'node:path';
import { usageFailure } from '../failure.ts';

/** Where a service keeps its data unless it is told otherwise. */
export const defaultDataDir = '/var/lib/mayfly';

/** The data folder that is meant: by option, by environment, or the default. */
export function dataFolder(option: string | undefined, env: Readonly<NodeJS.ProcessEnv>): string {
  if (option === '') throw usageFailure('--data-dir must name a folder.');
  return resolve(option ?? (env.MAYFLY_DATA_DIR || defaultDataDir));
}
