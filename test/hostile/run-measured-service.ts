// Runs the service in its own process and reports its memory on request. Settings come from the environment, the prepared host from the first
// argument.
import { readConfig } from '#server/app/config.ts';
import { openLog } from '#server/app/log.ts';
import { startService } from '#server/app/service.ts';
import { createGuestConnector } from '#server/guest/connector.ts';
import { QemuDriver } from '#server/machines/qemu/driver.ts';
import type { PreparedHost } from '../support/prepared-host.ts';

const host = JSON.parse(process.argv[2] ?? '') as PreparedHost;
const config = readConfig();
const log = openLog(config);
function openDriver() {
  return QemuDriver.open({ ...host, dataDir: config.dataDir, log });
}
const service = await startService({ config, openDriver, connector: createGuestConnector(), log });
process.on('message', (request) => {
  if (request === 'memory') {
    for (let round = 0; round < 3; round += 1) globalThis.gc?.();
    process.send?.(process.memoryUsage.rss());
  } else {
    void service.stop('destroy').then(() => process.exit(0));
  }
});
process.send?.(service.url);
