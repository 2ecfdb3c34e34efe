/** The entry `@mayfly/server/app`: running the service, and what set-up shares with it. */

export { openLog } from '../process/log.ts';
export { StartFailure } from '../process/start-failure.ts';
export { type Config, defaultCacheDir, readConfig } from './config.ts';
export { isDataFolderInUse, removeDataFolder } from './data-folder.ts';
export { type Service, startService } from './service.ts';
export { describeUntrusted, type TrustedIds, trustedIds } from './trusted-folder.ts';
