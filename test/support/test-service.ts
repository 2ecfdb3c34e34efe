import { readConfig } from '#server/app/config.ts';
import { machineLimits } from '#server/app/machine-limits.ts';
import { startService } from '#server/app/service.ts';
import type { Core } from '#server/core/context.ts';
import { createGuestConnector } from '#server/guest/connector.ts';
import { QemuDriver } from '#server/machines/qemu/driver.ts';
import { openLog } from '#server/process/log.ts';
import type { Target } from './api-requests.ts';
import { machineProcesses } from './machine-processes.ts';
import { type PreparedHost, preparedHost } from './prepared-host.ts';
import { newServiceData, testApiKey, unlimitedRates } from './service-settings.ts';

/** A complete service on real machines, in this process, with its own data folder and port. */
export interface TestService extends Target {
  readonly templates: PreparedHost['templates'];
  readonly dataDir: string;
  /** The core, for creating accounts and injecting faults. */
  readonly core: Core;
  readonly driver: QemuDriver;
  /** The certificate of the authority that signs the certificates of previews (PEM). */
  readonly previewRootFile: string;
  /** The command lines of the QEMU processes. */
  machineProcesses(): Promise<string[][]>;
  /** Stops the service, destroys its machines and removes its data. Fails if a machine is left. */
  stop(): Promise<void>;
}

/** Starts the service as `npm start` does after set-up; without rate limits unless the settings have some. */
export async function startTestService(settings: Record<string, string> = unlimitedRates): Promise<TestService> {
  const { engine, templates, tools } = preparedHost();
  const data = await newServiceData();
  const config = readConfig({
    MAYFLY_PORT: '0',
    MAYFLY_PREVIEW_PORT: '0',
    MAYFLY_BOOTSTRAP_API_KEY: testApiKey,
    MAYFLY_LOG_LEVEL: 'warn',
    // Suites count machines. Those that test the pool configure one.
    MAYFLY_POOL: 'none',
    ...data.settings,
    ...settings,
  });
  const { dataDir } = config;
  const log = openLog(config);
  const opened = Promise.withResolvers<QemuDriver>();
  const openDriver = async () => {
    const driver = await QemuDriver.open({ engine, templates, tools, ...machineLimits(config), dataDir, log });
    opened.resolve(driver);
    return driver;
  };
  const service = await startService({ config, openDriver, connector: createGuestConnector(), log });
  return {
    url: service.url,
    key: testApiKey,
    templates,
    dataDir,
    core: service.core,
    driver: await opened.promise,
    previewRootFile: service.previews.rootFile ?? '',
    machineProcesses: () => machineProcesses(dataDir),
    stop: async () => {
      await service.stop('destroy');
      const left = await machineProcesses(dataDir);
      await data.remove();
      if (left.length > 0) throw new Error(`left behind: ${left.map((argv) => argv.join(' ')).join('\n')}`);
    },
  };
}
