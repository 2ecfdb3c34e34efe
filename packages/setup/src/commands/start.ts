import { readConfig } from '@mayfly/server/app/config.ts';
import { openLog } from '@mayfly/server/app/log.ts';
import { reportFailedStart, runService } from '@mayfly/server/app/main.ts';
import { StartError } from '@mayfly/server/app/start-error.ts';
import { createGuestConnector } from '@mayfly/server/guest/connector.ts';
import { checkNetworkSupport } from '@mayfly/server/machines/qemu/network/check-support.ts';
import { formatLacks } from '../host/unfit-host.ts';
import type { Prepared } from '../prepare.ts';
import { openDriver } from './open-driver.ts';

/** Runs the service on the prepared machine until it is told to stop. */
export async function startService({ engine, templates, tools }: Prepared): Promise<number> {
  try {
    const config = readConfig();
    const problems = await checkNetworkSupport();
    if (problems.length > 0) throw new StartError(formatLacks(problems));
    const log = openLog(config);
    const { dataDir } = config;
    return await runService({
      config,
      log,
      openDriver: () => openDriver({ engine, templates, tools, dataDir, log }),
      connector: createGuestConnector(),
    });
  } catch (error) {
    return reportFailedStart(error);
  }
}
