import { existsSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { dirname, join } from 'node:path';
import {
  type Config,
  describeUntrusted,
  isDataFolderInUse,
  readConfig,
  StartFailure,
  type TrustedIds,
} from '@mayfly/server/app';
import { type ListeningPort, resolvePorts, serviceLimits } from '@mayfly/server/confinement';
import { hostCapabilities, hostStateDir } from '@mayfly/server/machines';
import { wantedPorts } from '@mayfly/server/supervisor';
import { SetupError } from '../announce.ts';
import { projectRoot } from '../environment.ts';
import { readSettings, writeSettings } from '../systemd/environment-file.ts';
import {
  installedUnits,
  isMayflyActive,
  refuseWithoutSystemd,
  removeUnits,
  type SystemdHost,
  systemdHost,
} from '../systemd/systemd-host.ts';
import { hostUnitName, serviceUnitName, type UnitPlan, unitFiles } from '../systemd/units.ts';

type Print = (text: string) => void;

const printOut: Print = (text) => void process.stdout.write(text);

/**
 * `mayfly install-service`: runs Mayfly under systemd from now on, also after a reboot. Settings that are set now are kept in the environment file, unless there
 * is one. Installs again what is installed already. Returns the exit code.
 */
export async function installService(
  host: SystemdHost = systemdHost,
  env = process.env,
  print: Print = printOut,
): Promise<number> {
  refuseWithoutSystemd(host);
  const found = await readSettings(host.environmentFile);
  const config = readSettingsOf(found ?? env);
  const plan = await planUnits(config, host.environmentFile);
  refuseUnusablePaths(plan);
  refuseUntrustedPaths(plan, host.trusted);
  if (!(await isMayflyActive(host)) && isDataFolderInUse(config.dataDir)) {
    throw new SetupError(
      `A Mayfly that systemd did not start is using the data folder ${config.dataDir}. Stop it, then try again: its sandboxes stay alive.`,
    );
  }
  if (found === undefined) await writeSettings(host.environmentFile, withAbsolutePaths(env, config));
  const units = unitFiles(plan);
  await removeUnits(
    host,
    installedUnits(host).filter((name) => !units.has(name)),
  );
  for (const [name, text] of units) await writeFile(join(host.unitDir, name), text);
  await host.systemctl('daemon-reload');
  await host.systemctl('enable', hostUnitName, serviceUnitName);
  await host.systemctl('restart', hostUnitName, serviceUnitName);
  if (!(await host.isReady(config.dataDir))) {
    throw new SetupError(
      'The units are installed, but the service does not answer. It is started again and again; this says why it fails: journalctl -u mayfly -u mayfly-host -n 50',
    );
  }
  print(
    `Mayfly runs under systemd, also after a reboot.
  Settings  ${host.environmentFile}${found === undefined ? '' : ' (it was there already and was not changed)'}
  API key   ${join(config.dataDir, 'service', 'first-api-key')}, if this is the first start
  State     systemctl status mayfly mayfly-host
  Logs      journalctl -u mayfly -u mayfly-host -f
  Stop      systemctl stop mayfly mayfly-host (sandboxes stay alive)
  Undo      npx mayfly uninstall-service
`,
  );
  return 0;
}

/** `mayfly uninstall-service`: stops Mayfly and takes it away from systemd. Sandboxes, data and settings stay. Returns the exit code. */
export async function uninstallService(host: SystemdHost = systemdHost, print: Print = printOut): Promise<number> {
  if (!host.isRoot) throw new SetupError('This needs root. Run it with sudo.');
  const units = installedUnits(host);
  if (units.length === 0) {
    print('Mayfly is not installed as a service. Nothing was changed.\n');
    return 0;
  }
  await removeUnits(host, units);
  print(
    `Mayfly is stopped and no longer runs under systemd. Sandboxes stay alive: npm start adopts them, npm run destroy destroys them.
The settings in ${host.environmentFile} are kept. To use them: set -a; . ${host.environmentFile}; set +a; npm start
`,
  );
  return 0;
}

function readSettingsOf(env: NodeJS.ProcessEnv): Config {
  try {
    return readConfig(env);
  } catch (error) {
    if (error instanceof StartFailure) throw new SetupError(error.message, { cause: error });
    throw error;
  }
}

/** Units run in other folders, so the settings that name one are kept as absolute paths. */
function withAbsolutePaths(env: NodeJS.ProcessEnv, { dataDir, cacheDir, tlsFiles }: Config): NodeJS.ProcessEnv {
  return {
    ...env,
    ...(env.MAYFLY_DATA_DIR && { MAYFLY_DATA_DIR: dataDir }),
    ...(env.MAYFLY_CACHE_DIR && { MAYFLY_CACHE_DIR: cacheDir }),
    ...(tlsFiles && { MAYFLY_TLS_CERT: tlsFiles.certFile, MAYFLY_TLS_KEY: tlsFiles.keyFile }),
  };
}

async function planUnits(config: Config, environmentFile: string): Promise<UnitPlan> {
  const { dataDir, cacheDir } = config;
  return {
    checkout: projectRoot,
    nodePath: process.execPath,
    dataDir,
    cacheDir,
    stateDir: hostStateDir,
    environmentFile,
    programFolders: [dirname(process.execPath), ...systemFolders],
    hostCapabilities: Object.keys(hostCapabilities).map((name) => name.toUpperCase()),
    serviceMemoryBytes: serviceLimits().memoryBytes,
    ports: (await resolvePorts(wantedPorts(config))).filter(canOpen),
  };
}

/** A unit that names an address which the host does not have fails as a whole, and any free port would be another one after each boot. */
function canOpen({ address, port, optional }: ListeningPort): boolean {
  const isHere = () =>
    Object.values(networkInterfaces()).some((found) => found?.some((each) => each.address === address));
  return port > 0 && (!optional || isHere());
}

/** Where a unit looks for programs, npm among them. Root would run whatever is in a folder of the caller's PATH. */
const systemFolders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Refuses folders that another user could change: root runs the checkout and the cache at every boot, when nobody is there to ask. */
function refuseUntrustedPaths({ checkout, dataDir, cacheDir }: UnitPlan, trusted: TrustedIds): void {
  for (const path of [checkout, dataDir, cacheDir]) {
    const problem = describeUntrusted(path, trusted);
    if (problem === undefined) continue;
    throw new SetupError(
      `Root would use ${path} at every boot, but it is not safe from other users: ${problem}. Make it root's and close it to others (chown -R root:root, chmod -R go-w), or use a folder below /opt, /var/lib or /var/cache.`,
    );
  }
}

/** Refuses paths that systemd would interpret, and those that the service's user cannot reach. */
function refuseUnusablePaths({ checkout, dataDir, cacheDir }: UnitPlan): void {
  for (const path of [checkout, dataDir, cacheDir]) {
    if (/[^\w./+@-]/.test(path)) {
      throw new SetupError(
        `systemd would not understand the path ${path}. Use one with letters, digits, dots, hyphens and underscores only.`,
      );
    }
  }
  for (const path of [checkout, dataDir]) {
    const closed = closedFolderAbove(path);
    if (closed !== undefined) {
      throw new SetupError(
        `The service runs as an unprivileged user, which may not enter ${closed}. Let others pass through it (chmod o+x ${closed}), or use a folder below /opt or /var/lib instead of ${path}.`,
      );
    }
  }
}

/** Folders that systemd replaces by empty ones for the service, so that their modes do not matter. */
const replacedFolders = ['/home', '/root', '/run/user'];

/** The folder above a path that other users may not enter; undefined if there is none. */
function closedFolderAbove(path: string): string | undefined {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    if (replacedFolders.some((replaced) => `${folder}/`.startsWith(`${replaced}/`))) return undefined;
    if (existsSync(folder) && (statSync(folder).mode & 0o001) === 0) return folder;
  }
  return undefined;
}
