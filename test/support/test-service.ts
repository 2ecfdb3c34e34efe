import type { Core } from '#server/app/assemble-core.ts';
import { readConfig } from '#server/app/config.ts';
import { startService } from '#server/app/service.ts';
import { createGuestConnector } from '#server/guest/connector.ts';
import type { RemoteDriver } from '#server/machines/remote/remote-driver.ts';
import { openLog } from '#server/process/log.ts';
import { startHost } from '#server-test/supervisor/start-supervised.ts';
import type { Target } from './api-requests.ts';
import { ServiceLog } from './diagnosis/service-log.ts';
import { machineProcesses } from './machine-processes.ts';
import { type PreparedHost, preparedHost } from './prepared-host.ts';
import { newServiceData, testApiKey, unlimitedRates } from './service-settings.ts';

/** A complete service in this process, on the real machines of a host process, with its own data folder and port. */
export interface TestService extends Target {
  readonly templates: PreparedHost['templates'];
  readonly dataDir: string;
  /** The core, for creating accounts and injecting faults. */
  readonly core: Core;
  readonly driver: RemoteDriver;
  /** The certificate of the authority that signs the certificates of previews (PEM). */
  readonly previewRootFile: string;
  /** The command lines of the QEMU processes. */
  machineProcesses(): Promise<string[][]>;
  /** Stops the service, destroys its machines and removes its data. Fails if a machine is left. */
  stop(): Promise<void>;
}

/** Starts the host process as `npm start` does and a service that uses it in this process; without rate limits unless the settings have some. */
export async function startTestService(settings: Record<string, string> = unlimitedRates): Promise<TestService> {
  const machines = preparedHost();
  const data = await newServiceData();
  const environment = {
    MAYFLY_PORT: '0',
    MAYFLY_PREVIEW_PORT: '0',
    MAYFLY_BOOTSTRAP_API_KEY: testApiKey,
    MAYFLY_LOG_LEVEL: 'warn',
    // Suites count machines. Those that test the pool configure one.
    MAYFLY_POOL: 'none',
    ...data.settings,
    ...settings,
  };
  const { dataDir, logLevel: printedLevel } = readConfig(environment);
  const lines = new ServiceLog({ dataDir, printedLevel });
  const loggingEnvironment = { ...environment, MAYFLY_LOG_LEVEL: lines.level };
  const config = readConfig(loggingEnvironment);
  const log = openLog(config, { write: (line) => lines.write(line.trimEnd()) });
  const host = startHost(machines, loggingEnvironment, lines.write);
  const opened = Promise.withResolvers<RemoteDriver>();
  const openDriver = async () => {
    const driver = await host.openDriver(log);
    opened.resolve(driver);
    return driver;
  };
  const options = {
    config: { ...config, dataDir: host.serviceDir },
    connector: createGuestConnector(),
    log,
  };
  const service = await startService({ ...options, openDriver }).catch(async (error: unknown) => {
    await host.stop();
    throw error;
  });
  return {
    url: service.url,
    key: testApiKey,
    templates: machines.templates,
    dataDir,
    core: service.core,
    driver: await opened.promise,
    previewRootFile: service.previews.rootFile ?? '',
    machineProcesses: () => machineProcesses(dataDir),
    stop: async () => {
      lines.keepConsoles();
      await service.stop('destroy');
      await host.stop();
      const left = await machineProcesses(dataDir);
      await data.remove();
      if (left.length > 0) throw new Error(`left behind: ${left.map((argv) => argv.join(' ')).join('\n')}`);
    },
  };
}
