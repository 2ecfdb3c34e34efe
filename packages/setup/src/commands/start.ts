import { join } from 'node:path';
import { readConfig } from '@mayfly/server/app/config.ts';
import { reportFailedStart, runService } from '@mayfly/server/app/main.ts';
import { createGuestConnector } from '@mayfly/server/guest/connector.ts';
import { QemuDriver } from '@mayfly/server/machines/qemu/driver.ts';
import type { Prepared } from '../prepare.ts';

/** Runs the service on the prepared machine until it is told to stop. */
export async function startService({ engine, templates }: Prepared): Promise<number> {
  try {
    const config = readConfig();
    const driver = new QemuDriver({ engine, templates, machinesDir: join(config.dataDir, 'machines') });
    return await runService({ config, driver, connector: createGuestConnector() });
  } catch (error) {
    return reportFailedStart(error);
  }
}
