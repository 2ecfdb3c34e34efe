// A service in a process of its own, to be killed. Says on standard output what it launches and when it is ready. SIGTERM leaves the
// machines alive, SIGINT ends them. The settings come from the environment, the prepared host in an argument.
import { readConfig } from '#server/app/config.ts';
import { openLog } from '#server/app/log.ts';
import { reportFailedStart } from '#server/app/main.ts';
import { type MachinesAtStop, startService } from '#server/app/service.ts';
import { createGuestConnector } from '#server/guest/connector.ts';
import { QemuDriver } from '#server/machines/qemu/driver.ts';
import type { PreparedHost } from '../prepared.ts';

const host = JSON.parse(process.argv[2] ?? '') as PreparedHost;
const config = readConfig();
const log = openLog(config);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const openDriver = async (): Promise<QemuDriver> => {
  const driver = await QemuDriver.open({ ...host, dataDir: config.dataDir, log });
  const launch = driver.launch.bind(driver);
  driver.launch = (request) => {
    say(`launched ${request.id}`);
    return launch(request);
  };
  return driver;
};

try {
  const service = await startService({ config, openDriver, connector: createGuestConnector(), log });
  const stop = (machines: MachinesAtStop) => void service.stop(machines).then(() => process.exit(0));
  process.on('SIGTERM', () => stop('leave'));
  process.on('SIGINT', () => stop('destroy'));
  say('ready');
} catch (error) {
  process.exit(reportFailedStart(error));
}
