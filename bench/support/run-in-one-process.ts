// Runs the service and the machine driver in one root process: what two processes are compared with. Settings come from the environment, the
// results of set-up from the first argument. SIGINT ends it and destroys its machines.
import { once } from 'node:events';
import { readConfig } from '#server/app/config.ts';
import { greeting } from '#server/app/greeting.ts';
import { startService } from '#server/app/service.ts';
import { createGuestConnector } from '#server/guest/connector.ts';
import { QemuDriver } from '#server/machines/qemu/driver.ts';
import { openLog } from '#server/process/log.ts';
import { machineLimits } from '#server/supervisor/machine-limits.ts';
import type { PreparedMachines } from '#server/supervisor/processes.ts';

const machines = JSON.parse(process.argv[2] ?? '') as PreparedMachines;
const stopRequested = once(process, 'SIGINT');
const config = readConfig();
const log = openLog(config);
const openDriver = () => QemuDriver.open({ ...machines, ...machineLimits(config), dataDir: config.dataDir, log });
const service = await startService({ config, log, openDriver, connector: createGuestConnector() });
process.stdout.write(greeting(service));
await stopRequested;
await service.stop('destroy');
