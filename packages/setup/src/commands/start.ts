import { readConfig } from '@mayfly/server/app/config.ts';
import { openLog } from '@mayfly/server/app/log.ts';
import { reportFailedStart, runService } from '@mayfly/server/app/main.ts';
import { createGuestConnector } from '@mayfly/server/guest/connector.ts';
import { QemuDriver } from '@mayfly/server/machines/qemu/driver.ts';
import type { Prepared } from '../prepare.ts';

/** Runs the service on the prepared machine until it is told to stop. */
export async function startService({ engine, templates, tools }: Prepared): Promise<number> {
  try {
    const config = readConfig();
    const log = openLog(config);
    const openDriver = () => QemuDriver.open({ engine, templates, tools, dataDir: config.dataDir, log });
    return await runService({ config, log, openDriver, connector: createGuestConnector() });
  } catch (error) {
    return reportFailedStart(error);
  }
}
