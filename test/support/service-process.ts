import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { afterAll } from 'vitest';
import { withDeadline } from '#server/core/scheduling/deadline.ts';
import type { Target } from './api-requests.ts';
import { machineProcesses } from './machine-processes.ts';
import { type PreparedHost, preparedHost } from './prepared-host.ts';
import { newServiceData, type ServiceData, testApiKey } from './service-settings.ts';
import { crash, type Supervised, supervisedBy } from './supervised-processes.ts';

/** A service that runs as npm start runs it: a supervisor, a host process and the confined service. */
export interface ServiceProcess extends Target {
  readonly baseUrl: string;
  /** The supervisor. */
  readonly child: ChildProcess;
  /** The host process and the service at this moment. */
  readonly processes: Supervised;
  /** Kills supervisor, host process and service with SIGKILL, as a crash would. Its machines keep running. */
  kill(): Promise<void>;
  /** Stops the service and destroys its machines. */
  destroy(): Promise<void>;
}

/** Starts a service on new data, or on the data of an earlier service, and waits until it accepts requests. */
export async function startServiceProcess(
  data: ServiceData,
  settings: Readonly<Record<string, string>> = {},
  host: PreparedHost = preparedHost(),
): Promise<ServiceProcess> {
  const script = join(import.meta.dirname, 'run-service.ts');
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, JSON.stringify(host)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      ...data.settings,
      MAYFLY_PORT: '0',
      MAYFLY_PREVIEW_PORT: '0',
      // Keeps preview URLs the same after a restart.
      MAYFLY_PREVIEW_PUBLIC_PORT: '8443',
      MAYFLY_BOOTSTRAP_API_KEY: testApiKey,
      MAYFLY_LOG_LEVEL: 'error',
      MAYFLY_POOL: 'none',
      ...settings,
    },
  });
  const url = await untilGreeted(child);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  };
  return {
    url,
    baseUrl: `${url}/v1`,
    key: testApiKey,
    child,
    get processes() {
      return supervisedBy(child.pid ?? 0);
    },
    kill: () => crash(child),
    destroy: () => end('SIGINT'),
  };
}

/** Waits for the URL in the greeting of a service. Fails if the process exits before. */
async function untilGreeted(child: ChildProcess & { readonly stdout: Readable }): Promise<string> {
  const url = Promise.withResolvers<string>();
  child.once('exit', (code, signal) => {
    url.reject(new Error(`The service exited before it was ready (${signal ?? `exit code ${code}`}).`));
  });
  createInterface(child.stdout).on('line', (line) => {
    const [, found] = /^ +API +(\S+)\/v1$/.exec(line) ?? [];
    if (found !== undefined) url.resolve(found);
  });
  return await withDeadline('the start of the service', 600_000, url.promise);
}

/** The data folders and services of a suite. All of them are gone when it has ended, also if it failed half-way. */
export function useServiceProcesses() {
  const allData: ServiceData[] = [];
  const services: ServiceProcess[] = [];
  afterAll(async () => {
    for (const service of services) await service.destroy();
    for (const data of allData) {
      if ((await machineProcesses(data.dataDir)).length > 0) await (await startServiceProcess(data)).destroy();
      await data.remove();
    }
  });
  return {
    newData: async (): Promise<ServiceData> => {
      const data = await newServiceData();
      allData.push(data);
      return data;
    },
    start: async (...args: Parameters<typeof startServiceProcess>): Promise<ServiceProcess> => {
      const service = await startServiceProcess(...args);
      services.push(service);
      return service;
    },
  };
}
