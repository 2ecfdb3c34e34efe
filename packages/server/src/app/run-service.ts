import { dirname } from 'node:path';
import { signInLinkUrl } from '@mayfly/contract/dashboard';
import { serviceFolders } from '../confinement/spec.ts';
import { tlsCopies } from '../confinement/tls-copy.ts';
import { type Destruction, destroyUntilGone } from '../core/sandboxes/destroy-all.ts';
import { createLoginLink } from '../core/sign-in/links.ts';
import { createGuestConnector } from '../guest/connector.ts';
import { runFolderOf } from '../machines/protocol/run-folder.ts';
import { HostVersionMismatch } from '../machines/remote/host-connection.ts';
import { RemoteDriver } from '../machines/remote/remote-driver.ts';
import { openLog } from '../process/log.ts';
import { describeError, reportFailedStart, StartFailure } from '../process/start-failure.ts';
import { type Config, readConfig } from './config.ts';
import { writeFirstKey } from './data-folder.ts';
import { type FirstSignIn, greeting, type ShownKey } from './greeting.ts';
import { type Service, type ServiceOptions, startService } from './service.ts';

/**
 * Serves until the stop is requested, or until a host process of another version makes a restart necessary, and returns the exit code. Running
 * sandboxes stay alive; the next start adopts them.
 */
export async function runService(stopRequested: Promise<void>): Promise<number> {
  let service: Service;
  const versionChanged = Promise.withResolvers<void>();
  try {
    const config = serviceConfig();
    service = await startService(serviceOptions(config, versionChanged.resolve));
    const firstKey = await shownKeyOf(service, config);
    const firstSignIn = await firstSignInOf(service, process.stdout.isTTY);
    process.stdout.write(greeting({ ...service, firstKey, firstSignIn }));
  } catch (error) {
    return reportFailedStart(error);
  }
  const exitCode = await Promise.race([stopRequested.then(() => 0), versionChanged.promise.then(() => 1)]);
  process.stdout.write('Stopping. Requests in flight may finish. Press Ctrl-C again to exit at once.\n');
  try {
    await service.stop();
  } catch (error) {
    process.stderr.write(`Mayfly did not stop cleanly: ${describeError(error)}\n`);
    return 1;
  }
  process.stdout.write(
    'Stopped. Running sandboxes stay alive: npm start adopts them, npm run destroy destroys them.\n',
  );
  return exitCode;
}

/** How the operator signs in for the first time, unless with a password. The link works only once, so it is made only for a terminal. */
export async function firstSignInOf(
  { firstAccount, core, url }: Pick<Service, 'firstAccount' | 'core' | 'url'>,
  isTerminal: boolean,
): Promise<FirstSignIn | undefined> {
  if (firstAccount === undefined || firstAccount.hasPassword) return undefined;
  const { email } = firstAccount;
  if (!isTerminal) return { command: `npx mayfly admin accounts login-link --email ${email}` };
  return { link: signInLinkUrl(url, (await createLoginLink(core, email)).token) };
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

/** Where the operator finds the first key. Output that is not a terminal is often a journal or a log that others read. */
export function shownKey(
  apiKey: string | undefined,
  { dataDir }: Pick<Config, 'dataDir'>,
  isTerminal: boolean,
): ShownKey | undefined {
  if (apiKey === undefined) return undefined;
  return isTerminal ? { apiKey } : { file: writeFirstKey(dataDir, apiKey) };
}

/** A host process that ended is back within its longest pause, half a minute, and then adopts its machines. */
export const destructionPace = { deadlineMs: 120_000, pauseMs: 1_000 };

/** Destroys every sandbox that a stopped service left running and returns the exit code: 0 only if none is left. */
export async function destroySandboxes(): Promise<number> {
  try {
    const nowhere = { host: '127.0.0.1', port: 0, previewHost: '127.0.0.1', previewPort: 0 };
    const config: Config = {
      ...serviceConfig(),
      ...nowhere,
      apiTls: false,
      tlsFiles: undefined,
      pool: {},
      poolTemplates: [],
    };
    const service = await startService(serviceOptions(config));
    await using _stopped = { [Symbol.asyncDispose]: () => service.stop() };
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
    const run = () => destroyUntilGone(service.core, destructionPace).then(refuseLeft);
    const destroyed = await service.core.audit.recordCommand(event, failed, run);
    process.stdout.write(`Destroyed ${sandboxes(destroyed)}.\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof SandboxesLeft)) return reportFailedStart(error);
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
}

/** Sandboxes or machines that could not be destroyed. The message is for the operator. */
export class SandboxesLeft extends Error {}

/** Returns how many sandboxes were destroyed. Throws SandboxesLeft if any remain. */
export function refuseLeft({ destroyed, left, machinesLeft }: Destruction): number {
  if (left.length + machinesLeft === 0) return destroyed;
  const what = left.length > 0 ? `${sandboxes(left.length)} (${left.join(', ')})` : `${machinesLeft} machines`;
  throw new SandboxesLeft(
    `Destroyed ${sandboxes(destroyed)}. ${what} could not be destroyed: the log says why. Run npm run destroy again.`,
  );
}

function sandboxes(count: number): string {
  return `${count} ${count === 1 ? 'sandbox' : 'sandboxes'}`;
}

/** The operator's settings, with the places of files as the service sees them: its part of the data folder, and copies of certificates. */
function serviceConfig(): Config {
  const config = readConfig();
  const { serviceDir, tlsDir } = serviceFolders(config.dataDir);
  return { ...config, dataDir: serviceDir, tlsFiles: config.tlsFiles && tlsCopies(tlsDir) };
}

/** The service uses the machines of the host process, whose sockets are beside its own part of the data folder. */
function serviceOptions(config: Config, onVersionChanged: () => void = () => {}): ServiceOptions {
  const log = openLog({ ...config, process: 'service' });
  const runDir = runFolderOf(dirname(config.dataDir));
  const onOtherVersion = (err: HostVersionMismatch): void => {
    log.error({ err }, 'host_version_changed');
    onVersionChanged();
  };
  const openDriver = () => openRemoteDriver({ runDir, log, onOtherVersion });
  return { config, log, openDriver, connector: createGuestConnector() };
}

async function openRemoteDriver(options: Parameters<typeof RemoteDriver.open>[0]): Promise<RemoteDriver> {
  try {
    return await RemoteDriver.open(options);
  } catch (error) {
    if (error instanceof HostVersionMismatch) throw new StartFailure(error.message, { cause: error });
    throw error;
  }
}
