// The host process: runs machines as root for a service that has no rights. Takes its settings as one JSON document on standard input.

import { text } from 'node:stream/consumers';
import { QemuDriver } from '../machines/qemu/driver.ts';
import { NewerMachineRecord } from '../machines/qemu/machine-folder.ts';
import { openLog } from '../process/log.ts';
import { reportFailedStart, StartFailure } from '../process/start-failure.ts';
import { ignoreClosedTerminal, watchStopSignals } from '../process/stop-signals.ts';
import { runHost } from './run-host.ts';
import { parseHostSettings } from './settings.ts';

const stopRequested = watchStopSignals();
ignoreClosedTerminal();
try {
  const { logLevel, maxMachines, diskReserveBytes, ...driverOptions } = parseHostSettings(await text(process.stdin));
  const { dataDir, serviceGid } = driverOptions;
  const log = openLog({ logLevel, process: 'host' });
  const openDriver = () =>
    QemuDriver.open({ ...driverOptions, diskReserveBytes, log }).catch((error: unknown) => {
      throw error instanceof NewerMachineRecord ? new StartFailure(error.message, { cause: error }) : error;
    });
  const limits = { diskReserveBytes, ...(maxMachines !== undefined && { maxMachines }) };
  process.exitCode = await runHost({ dataDir, serviceGid, openDriver, log, limits }, stopRequested);
} catch (error) {
  process.exitCode = reportFailedStart(error);
}
