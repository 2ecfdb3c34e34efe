import { readConfig } from '@mayfly/server/app/config.ts';
import { openLog } from '@mayfly/server/app/log.ts';
import { reportFailedStart, runService } from '@mayfly/server/app/main.ts';
import { StartError } from '@mayfly/server/app/start-error.ts';
import { createGuestConnector } from '@mayfly/server/guest/connector.ts';
import { QemuDriver } from '@mayfly/server/machines/qemu/driver.ts';
import { checkNetworkSupport } from '@mayfly/server/machines/qemu/network/check-support.ts';
import type { Prepared } from '../prepare.ts';

const formatNetworkProblems = (problems: readonly { readonly what: string; readonly remedy: string }[]): string =>
  [
    'This host cannot give machines a network:',
    ...problems.map(({ what, remedy }) => `  ${what}. Remedy: ${remedy}`),
  ].join('\n');

/** Runs the service on the prepared machine until it is told to stop. */
export async function startService({ engine, templates, tools }: Prepared): Promise<number> {
  try {
    const config = readConfig();
    const problems = await checkNetworkSupport();
    if (problems.length > 0) throw new StartError(formatNetworkProblems(problems));
    const log = openLog(config);
    const openDriver = () => QemuDriver.open({ engine, templates, tools, dataDir: config.dataDir, log });
    return await runService({ config, log, openDriver, connector: createGuestConnector() });
  } catch (error) {
    return reportFailedStart(error);
  }
}
