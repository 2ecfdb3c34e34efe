import { readConfig } from '#server/app/config.ts';
import { openLog } from '#server/app/log.ts';
import { startService } from '#server/app/service.ts';
import type { Core } from '#server/core/context.ts';
import { createGuestConnector } from '#server/guest/connector.ts';
import { QemuDriver } from '#server/machines/qemu/driver.ts';
import type { Target } from './http.ts';
import { type PreparedHost, preparedHost } from './prepared.ts';
import { machineProcesses } from './processes.ts';
import { newServiceData } from './service-data.ts';

/** A whole service on real machines, with a data folder and a port of its own. */
export interface TestService extends Target {
  readonly templates: PreparedHost['templates'];
  readonly dataDir: string;
  /** Its inside, to make accounts and to break things. */
  readonly core: Core;
  /** The PEM file of the authority that signs its previews' certificates. */
  readonly previewRootFile: string;
  /** The command lines of its QEMU processes. */
  machineProcesses(): Promise<string[][]>;
  /** Stops it and removes its data; fails if a machine was left behind. */
  stop(): Promise<void>;
}

/** Windows wide enough for suites that are about something else. */
export const roomyWindows = {
  MAYFLY_LIMIT_REQUESTS_PER_MINUTE: '1000000',
  MAYFLY_LIMIT_CREATIONS_PER_MINUTE: '1000000',
  MAYFLY_LIMIT_SOURCE_REQUESTS_PER_MINUTE: '1000000',
};

/** Starts the service as npm start does, after set-up; with wide windows unless the settings say otherwise. */
export const startTestService = async (settings: Record<string, string> = roomyWindows): Promise<TestService> => {
  const { engine, templates, tools } = preparedHost();
  const data = await newServiceData();
  const { dataDir } = data;
  const key = 'mf_test_key_of_the_first_account';
  const config = readConfig({
    MAYFLY_PORT: '0',
    MAYFLY_PREVIEW_PORT: '0',
    MAYFLY_BOOTSTRAP_API_KEY: key,
    MAYFLY_LOG_LEVEL: 'warn',
    // Suites count machines; those that are about the pool ask for one.
    MAYFLY_POOL: 'none',
    ...data.settings,
    ...settings,
  });
  const log = openLog(config);
  const openDriver = () => QemuDriver.open({ engine, templates, tools, dataDir, log });
  const service = await startService({ config, openDriver, connector: createGuestConnector(), log });
  return {
    url: service.url,
    key,
    templates,
    dataDir,
    core: service.core,
    previewRootFile: service.previews.rootFile ?? '',
    machineProcesses: () => machineProcesses(dataDir),
    stop: async () => {
      await service.stop('destroy');
      const left = await machineProcesses(dataDir);
      await data.remove();
      if (left.length > 0) throw new Error(`left behind: ${left.map((argv) => argv.join(' ')).join('\n')}`);
    },
  };
};
