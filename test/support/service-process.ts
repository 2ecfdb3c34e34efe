import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Target } from './http.ts';
import { preparedHost } from './prepared.ts';
import type { ServiceData } from './service-data.ts';

/** A service in a process of its own. */
export interface ServiceProcess extends Target {
  readonly baseUrl: string;
  readonly child: ChildProcess;
  /** SIGTERM stops it and destroys its machines, SIGKILL ends it as a crash does. */
  end(signal: NodeJS.Signals): Promise<void>;
}

/** Starts a service on data that may be an earlier one's and waits until it takes requests. */
export const startServiceProcess = async (
  data: ServiceData,
  settings: Readonly<Record<string, string>> = {},
): Promise<ServiceProcess> => {
  const key = 'mf_test_key_of_the_first_account';
  const script = join(import.meta.dirname, 'run-service.ts');
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', script, JSON.stringify(preparedHost())],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        ...data.settings,
        MAYFLY_PORT: '0',
        MAYFLY_PREVIEW_PORT: '0',
        // The URLs stay the same when it is started again.
        MAYFLY_PREVIEW_PUBLIC_PORT: '8443',
        MAYFLY_BOOTSTRAP_API_KEY: key,
        MAYFLY_LOG_LEVEL: 'error',
        MAYFLY_POOL: 'none',
        ...settings,
      },
    },
  );
  const [url] = await once(createInterface(child.stdout), 'line', { signal: AbortSignal.timeout(60_000) });
  return {
    url: String(url),
    baseUrl: `${url}/v1`,
    key,
    child,
    end: async (signal) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill(signal);
      await exited;
    },
  };
};
