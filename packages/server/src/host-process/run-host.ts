import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { MachineDriver } from '../core/ports/machine-driver.ts';
import type { Log } from '../core/ports/runtime.ts';
import { hostSocketPath, runFolderOf } from '../machines/protocol/run-folder.ts';
import { reportFailedStart, StartFailure } from '../process/start-failure.ts';
import { tryLock } from '../system/lock-file.ts';
import { DriverServer } from './driver-server.ts';
import type { HostLimits } from './host-limits.ts';

export interface HostOptions {
  readonly dataDir: string;
  /** The group that may ask for machines; nobody but root when absent. */
  readonly serviceGid?: number | undefined;
  /** Called once the data folder is locked. Makes the run folder. The driver is disposed of when the host process stops. */
  readonly openDriver: () => Promise<MachineDriver>;
  readonly log: Log;
  readonly limits?: Partial<HostLimits> | undefined;
}

/** Opens the driver and serves it. Disposing stops serving, lets calls in progress finish, and keeps all machines running. */
async function startHost(options: HostOptions): Promise<AsyncDisposable> {
  const { dataDir, serviceGid, openDriver, log, limits } = options;
  await using acquired = new AsyncDisposableStack();
  const lock = tryLock(join(dataDir, 'lock'), 'exclusive');
  if (lock === undefined) {
    throw new StartFailure(
      `Another Mayfly is using the data folder ${dataDir}. Stop it, or set MAYFLY_DATA_DIR to another folder.`,
    );
  }
  acquired.use(lock);
  const driver = acquired.use(await openDriver());
  log.info({ driver: driver.describe() }, 'driver_opened');
  acquired.use(
    await DriverServer.listen({
      driver,
      socketPath: hostSocketPath(runFolderOf(dataDir)),
      log,
      diskFreeBytes: () => freeBytesOf(dataDir),
      ...(serviceGid !== undefined && { serviceGid }),
      ...(limits && { limits }),
    }),
  );
  return acquired.move();
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** Serves machines until the stop is requested and returns the exit code. Machines keep running: the next host process adopts them. */
export async function runHost(options: HostOptions, stopRequested: Promise<void>): Promise<number> {
  const { log } = options;
  try {
    const host = await startHost(options);
    await stopRequested;
    log.info({}, 'host_stopping');
    await host[Symbol.asyncDispose]();
    log.info({}, 'host_stopped');
    return 0;
  } catch (err) {
    log.error({ err }, 'host_failed');
    return err instanceof StartFailure ? reportFailedStart(err) : 1;
  }
}
