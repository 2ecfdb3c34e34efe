import { fileURLToPath } from 'node:url';
import { defaultCacheDir } from '@mayfly/server/app';
import { SetupError } from './announce.ts';

/** Absolute path of the checkout, without a trailing slash. */
export const projectRoot = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');

/** The settings of set-up. */
export interface SetupEnvironment {
  /** Absolute folder of all cached artifacts. */
  readonly cacheDir: string;
  /** Absolute folder in which set-up links the `mayfly` command. */
  readonly binDir: string;
  /** Archive to take Debian 13 from instead of the host's own. */
  readonly debianMirror: string | undefined;
}

/** Reads the settings of set-up. The only place in this package that reads settings from the environment. */
export function readEnvironment(env: NodeJS.ProcessEnv): SetupEnvironment {
  const cacheDir = env.MAYFLY_CACHE_DIR || defaultCacheDir;
  if (!cacheDir.startsWith('/')) {
    throw new SetupError(
      `MAYFLY_CACHE_DIR must be an absolute path, not "${cacheDir}". Set it to a path that starts with /.`,
    );
  }
  const binDir = env.MAYFLY_BIN_DIR || '/usr/local/bin';
  if (!binDir.startsWith('/')) {
    throw new SetupError(
      `MAYFLY_BIN_DIR must be an absolute path, not "${binDir}". Set it to a path that starts with /.`,
    );
  }
  return { cacheDir, binDir, debianMirror: env.MAYFLY_DEBIAN_MIRROR || undefined };
}
