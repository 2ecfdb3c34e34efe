import type { Log } from '../core/ports/runtime.ts';
import { destroyAllSandboxes } from '../core/sandboxes/end.ts';
import { createGuestConnector } from '../guest/connector.ts';
import { QemuDriver, type QemuDriverOptions } from '../machines/qemu/driver.ts';
import { NewerMachineRecord } from '../machines/qemu/machine-folder.ts';
import { checkNetworkSupport } from '../machines/qemu/network/check-support.ts';
import { type Config, readConfig } from './config.ts';
import { writeFirstKey } from './data-folder.ts';
import { greeting, type ShownKey } from './greeting.ts';
import { openLog } from './log.ts';
import { machineLimits } from './machine-limits.ts';
import { protectFromOutOfMemory } from './oom-protection.ts';
import { type Service, type ServiceOptions, startService } from './service.ts';
import { describeHostProblems, StartError } from './start-error.ts';

/** What set-up built: everything that is needed to run machines. */
export type PreparedMachines = Pick<QemuDriverOptions, 'engine' | 'templates' | 'tools'> & {
  /** When the guest's kernel and image were built, the older of the two. */
  readonly guestBuiltAtMs?: number;
};

/** A guest image that is older lacks security updates. Set-up warns from the same age on. */
export const oldGuestDays = 30;

/** Exit code when a second signal ends the service at once. */
const forcedStopCode = 130;

/** Signals within this time are one request to stop: a terminal signals every process of `npm start`, and npm and bootstrap.mjs forward it. */
const sameRequestMs = 1_000;

/** Runs the service until SIGINT, SIGTERM or SIGHUP and returns the exit code. Running sandboxes stay alive; the next start adopts them. */
export async function runService(machines: PreparedMachines): Promise<number> {
  const stopRequested = watchStopSignals();
  ignoreClosedTerminal();
  let service: Service;
  let firstKey: ShownKey | undefined;
  try {
    const config = readConfig();
    const problems = await checkNetworkSupport();
    if (problems.length > 0) throw new StartError(describeHostProblems(problems));
    const options = serviceOptions(config, machines);
    protectFromOutOfMemory(options.log);
    service = await startService(options);
    watchGuestAge(machines.guestBuiltAtMs, options.log);
    firstKey = await shownKeyOf(service, config);
  } catch (error) {
    return reportFailedStart(error);
  }
  process.stdout.write(greeting({ ...service, firstKey }));
  await stopRequested;
  process.stdout.write('Stopping. Requests in flight may finish. Press Ctrl-C again to exit at once.\n');
  try {
    await service.stop();
  } catch (error) {
    process.stderr.write(`Mayfly did not stop cleanly: ${describe(error)}\n`);
    return 1;
  }
  process.stdout.write(
    'Stopped. Running sandboxes stay alive: npm start adopts them, npm run destroy destroys them.\n',
  );
  return 0;
}

/** Where the operator finds the first key. Stops the service if nobody could ever find it. */
async function shownKeyOf(service: Service, config: Config): Promise<ShownKey | undefined> {
  try {
    return shownKey(service.firstAccount?.generatedKey, config, process.stdout.isTTY);
  } catch (error) {
    await service.stop();
    throw error;
  }
}

const dayMs = 86_400_000;

/** Reminds the operator of a service that runs for months, in the log, once a day. Set-up says the same at the start. */
function watchGuestAge(guestBuiltAtMs: number | undefined, log: Log): void {
  if (guestBuiltAtMs === undefined) return;
  const check = (): void => {
    const ageDays = Math.floor((Date.now() - guestBuiltAtMs) / dayMs);
    if (ageDays > oldGuestDays) log.warn({ age_days: ageDays, remedy: 'npm run update-guest' }, 'guest_image_outdated');
  };
  check();
  setInterval(check, dayMs).unref();
}

/** Where the operator finds the first key. Output that is no terminal is often a journal or a log that others read. */
export function shownKey(
  apiKey: string | undefined,
  { dataDir }: Pick<Config, 'dataDir'>,
  isTerminal: boolean,
): ShownKey | undefined {
  if (apiKey === undefined) return undefined;
  return isTerminal ? { apiKey } : { file: writeFirstKey(dataDir, apiKey) };
}

/** Destroys every sandbox that a stopped service left running and returns the exit code. Refuses while a service uses the data folder. */
export async function destroySandboxes(machines: PreparedMachines): Promise<number> {
  try {
    const nowhere = { host: '127.0.0.1', port: 0, previewHost: '127.0.0.1', previewPort: 0 };
    const config: Config = { ...readConfig(), ...nowhere, apiTls: false, tlsFiles: undefined };
    const service = await startService(serviceOptions({ ...config, pool: {} }, machines));
    const running = await service.core.store.sandboxes.withStatus(['running']);
    const actor = { kind: 'operator', name: 'npm run destroy' } as const;
    const event = {
      actor,
      accountId: null,
      action: 'sandboxes.destroy',
      target: 'all',
      details: null,
      requestId: null,
    };
    const failed = () => ({ status: 500, errorType: 'internal_error' });
    await service.core.audit.recordCommand(event, failed, () => destroyAllSandboxes(service.core));
    await service.stop();
    process.stdout.write(`Destroyed ${running.length} running ${running.length === 1 ? 'sandbox' : 'sandboxes'}.\n`);
    return 0;
  } catch (error) {
    return reportFailedStart(error);
  }
}

/** Tells the operator why the service cannot start and returns the exit code. */
export function reportFailedStart(error: unknown): number {
  process.stderr.write(
    error instanceof StartError
      ? `Mayfly cannot start. ${error.message}\n`
      : `Mayfly cannot start because of an unexpected error: ${describe(error)}\n`,
  );
  return 1;
}

function serviceOptions(config: Config, machines: PreparedMachines): ServiceOptions {
  const log = openLog(config);
  return {
    config,
    log,
    openDriver: () =>
      openDriver({
        ...machines,
        ...machineLimits(config),
        dataDir: config.dataDir,
        refusedRanges: config.egressRefuse,
        log,
      }),
    connector: createGuestConnector(),
  };
}

async function openDriver(options: QemuDriverOptions): Promise<QemuDriver> {
  try {
    return await QemuDriver.open(options);
  } catch (error) {
    if (error instanceof NewerMachineRecord) throw new StartError(error.message, { cause: error });
    throw error;
  }
}

/** Resolves at the first stop signal. A later one exits at once. */
function watchStopSignals(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let requestedAtMs: number | undefined;
  const onSignal = (): void => {
    if (requestedAtMs !== undefined && performance.now() - requestedAtMs > sameRequestMs) process.exit(forcedStopCode);
    requestedAtMs ??= performance.now();
    resolve();
  };
  // The handlers stay: a forwarded signal may arrive when the service has just stopped, and must not change the exit code.
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal).on('SIGHUP', onSignal);
  return promise;
}

/** Closing the terminal stops the service. Printing to it fails from then on, which must not interrupt the stop. */
function ignoreClosedTerminal(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
