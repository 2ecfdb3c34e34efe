/** Everything set-up reads from the environment. */
export interface SetupEnvironment {
  /** Absolute folder of all cached artifacts. */
  readonly cacheDir: string;
  /** Archive to take Debian 13 from instead of the one the host uses. */
  readonly debianMirror: string | undefined;
}

/** The set-up's view of the environment; the only place of this package that reads it for settings. */
export function readEnvironment(env: NodeJS.ProcessEnv): SetupEnvironment {
  const cacheDir = env.MAYFLY_CACHE_DIR || '/var/cache/mayfly';
  if (!cacheDir.startsWith('/')) {
    throw new RangeError(`MAYFLY_CACHE_DIR must be an absolute path, not "${cacheDir}"`);
  }
  return { cacheDir, debianMirror: env.MAYFLY_DEBIAN_MIRROR || undefined };
}
