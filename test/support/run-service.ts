// Runs the service in its own process, for suites that kill and restart it. Settings come from the environment, the prepared host from the
// first argument. Writes its URL to standard output once it accepts requests. SIGTERM stops the service and leaves its machines running;
// SIGINT stops it and destroys them.
import { readConfig } from '#server/app/config.ts';
import { machineLimits } from '#server/app/machine-limits.ts';
import { reportFailedStart } from '#server/app/failed-start.ts';
import { type MachinesAtStop, startService } from '#server/app/service.ts';
import { createGuestConnector } from '#server/guest/connector.ts';
import { QemuDriver } from '#server/machines/qemu/driver.ts';
import { openLog } from '#server/process/log.ts';
import type { PreparedHost } from './prepared-host.ts';

const host = JSON.parse(process.argv[2] ?? '') as PreparedHost;
const config = readConfig();
const log = openLog(config);

function openDriver(): Promise<QemuDriver> {
  return QemuDriver.open({
    ...host,
    ...machineLimits(config),
    dataDir: config.dataDir,
    refusedRanges: config.egressRefuse,
    log,
  });
}

try {
  const service = await startService({ config, openDriver, connector: createGuestConnector(), log });
  const stop = (machines: MachinesAtStop) => void service.stop(machines).then(() => process.exit(0));
  process.on('SIGTERM', () => stop('detach'));
  process.on('SIGINT', () => stop('destroy'));
  process.stdout.write(`${service.url}\n`);
} catch (error) {
  process.exit(reportFailedStart(error));
}
