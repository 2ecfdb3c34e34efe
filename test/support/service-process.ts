import type { ChildProcess } from 'node:child_process';
import { afterAll } from 'vitest';
import { startSupervised } from '#server-test/supervisor/start-supervised.ts';
import type { Target } from './api-requests.ts';
import { ServiceLog } from './diagnosis/service-log.ts';
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
  const environment = {
    ...data.settings,
    MAYFLY_PORT: '0',
    MAYFLY_PREVIEW_PORT: '0',
    // Keeps preview URLs the same after a restart.
    MAYFLY_PREVIEW_PUBLIC_PORT: '8443',
    MAYFLY_BOOTSTRAP_API_KEY: testApiKey,
    MAYFLY_LOG_LEVEL: 'error',
    MAYFLY_POOL: 'none',
    ...settings,
  };
  const dataDir = settings.MAYFLY_DATA_DIR ?? data.dataDir;
  const log = new ServiceLog({ dataDir, printedLevel: environment.MAYFLY_LOG_LEVEL });
  const supervised = startSupervised(host, { ...environment, MAYFLY_LOG_LEVEL: log.level }, log.write);
  const { url, child, end } = await supervised;
  return {
    url,
    baseUrl: `${url}/v1`,
    key: testApiKey,
    child,
    get processes() {
      return supervisedBy(child.pid ?? 0);
    },
    kill: () => crash(child),
    destroy: () => {
      log.keepConsoles();
      return end('SIGINT');
    },
  };
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
