import { existsSync } from 'node:fs';
import { readdir, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { isDataFolderInUse, readConfig, removeDataFolder } from '@mayfly/server/app';
import { type SystemUser, serviceUserName } from '@mayfly/server/confinement';
import { hostStateDir, takeDownUnusedHost } from '@mayfly/server/machines';
import { removeTree } from '../cache/entry.ts';
import { containsUsedFile, findUsedFiles, listEntries, type UsedFiles } from '../cache/prune.ts';
import { readEnvironment } from '../environment.ts';
import { unlinkCommand } from '../requirements/host-command.ts';
import {
  addedPackagesPath,
  installedPackages,
  type RunApt,
  readAddedPackages,
  runApt,
} from '../requirements/install-packages.ts';
import { backportsSourcesPath } from '../requirements/install-plan.ts';
import { findCreatedUser, removeServiceUser } from '../requirements/service-user.ts';
import { readSettings } from '../systemd/environment-file.ts';
import { installedUnits, isMayflyActive, removeUnits, type SystemdHost, systemdHost } from '../systemd/systemd-host.ts';

const usage = `Usage: npm run uninstall [-- options]
Removes what set-up put on this host: the systemd units of install-service, the cache, the Debian packages it installed, its apt source, its system
user and its network set-up. The data folder (accounts, records, the preview authority) and the settings of the units are kept unless --data is given.
  --yes    do not ask
  --data   also remove the data folder and the settings of the units
`;

/** Everything of the host that uninstalling touches; replaced in tests. */
export interface InstalledHost {
  readonly cacheDir: string;
  readonly dataDir: string;
  /** Where set-up links the `mayfly` command. */
  readonly binDir: string;
  /** Locks and records of running machines. */
  readonly stateDir: string;
  readonly sourcesPath: string;
  readonly apt: RunApt;
  readonly installed: () => Promise<ReadonlySet<string>>;
  readonly findUsed: () => Promise<UsedFiles>;
  /** Returns false if a service or machine still uses the network set-up. */
  readonly takeDownNetwork: (stateDir: string) => Promise<boolean>;
  /** The system user that set-up created; undefined if there is none. */
  readonly findUser: () => Promise<SystemUser | undefined>;
  readonly removeUser: (user: SystemUser, dataDir: string) => Promise<void>;
  readonly systemd: SystemdHost;
  /** Asks a yes-or-no question; undefined without a terminal. */
  readonly ask: ((question: string) => Promise<boolean>) | undefined;
  readonly print: (line: string) => void;
}

/** `npm run uninstall`: removes from this host what set-up installed. Returns the exit code. */
export async function uninstall(args: readonly string[]): Promise<number> {
  if (process.getuid?.() !== 0) {
    process.stderr.write('Uninstalling needs root. Run it with sudo: sudo npm run uninstall\n');
    return 1;
  }
  // What runs under systemd uses the folders that its settings name.
  const env = { ...(await readSettings(systemdHost.environmentFile)), ...process.env };
  return await uninstallFrom(args, {
    cacheDir: readEnvironment(env).cacheDir,
    binDir: readEnvironment(env).binDir,
    dataDir: readConfig(env).dataDir,
    stateDir: hostStateDir,
    sourcesPath: backportsSourcesPath,
    apt: runApt,
    installed: installedPackages,
    findUsed: findUsedFiles,
    takeDownNetwork,
    findUser: () => findCreatedUser(),
    removeUser: (user, dataDir) => removeServiceUser(user, dataDir),
    systemd: systemdHost,
    ask: process.stdin.isTTY ? askOnTerminal : undefined,
    print: (line) => void process.stderr.write(`${line}\n`),
  });
}

/** Uninstalls from a host. Refuses, and changes nothing, while a service or sandbox is alive. */
export async function uninstallFrom(args: readonly string[], host: InstalledHost): Promise<number> {
  const { cacheDir, dataDir, stateDir, sourcesPath, systemd, print } = host;
  const options = parse(args, print);
  if (options === undefined) return 2;
  if (options.help) {
    print(usage);
    return 0;
  }
  const units = installedUnits(systemd);
  const isActive = units.length > 0 && (await isMayflyActive(systemd));
  if (!isActive && (await isInUse(host))) return 1;
  const packages = await findRemovablePackages(host);
  print('This removes:');
  print(`  • the cache ${cacheDir} (guest image, templates, compiled programs)`);
  if (units.length > 0)
    print(`  • the systemd units ${units.join(', ')}${isActive ? ', which are stopped first' : ''}`);
  if (existsSync(sourcesPath)) print(`  • the apt source ${sourcesPath}`);
  const user = await host.findUser();
  if (user) print(`  • the system user ${serviceUserName}`);
  if (existsSync(stateDir)) print(`  • the network set-up of machines and ${stateDir}`);
  print(
    options.data
      ? `  • the data folder ${dataDir}: accounts, API keys, all records and the preview authority. This cannot be undone.`
      : `The data folder ${dataDir} is kept. To remove it too, add --data.`,
  );
  if (packages.length > 0) print(`Debian packages that set-up installed: ${packages.join(', ')}.`);
  if (!options.yes && host.ask === undefined) {
    print('There is no terminal to ask on. To uninstall without being asked: npm run uninstall -- --yes');
    return 2;
  }
  const confirm = async (question: string) => options.yes || (await host.ask?.(question)) === true;
  if (!(await confirm('Uninstall Mayfly?'))) {
    print('Nothing was changed.');
    return 1;
  }
  const removePackages = packages.length > 0 && (await confirm('Remove these Debian packages too?'));
  if (isActive) {
    await systemd.systemctl('stop', ...units);
    if (await isInUse(host)) {
      await systemd.systemctl('start', ...units.filter((name) => name.endsWith('.service')));
      return 1;
    }
  }
  if (existsSync(stateDir)) {
    if (!(await host.takeDownNetwork(stateDir))) {
      print('The network of machines is still in use. Run npm run destroy first. Nothing was removed.');
      return 1;
    }
    await removeTree(stateDir);
  }
  await removeUnits(systemd, units);
  if (removePackages) {
    await host.apt(['remove', '--yes', ...packages]);
    print('Packages that were installed as their dependencies are kept. To remove them: apt-get autoremove');
  }
  await rm(sourcesPath, { force: true });
  await unlinkCommand(host.binDir);
  if (options.data) {
    if (existsSync(dataDir)) removeDataFolder(dataDir);
    await removeSettings(systemd.environmentFile);
  }
  if (user) await host.removeUser(user, dataDir);
  await removeCache(cacheDir, packages.length === 0 || removePackages);
  for (const folder of [cacheDir, ...(options.data ? [dataDir] : [])]) {
    if (existsSync(folder)) print(`${folder} is kept, because it contains: ${(await readdir(folder)).join(', ')}`);
  }
  print('Mayfly is uninstalled. You can delete the checkout now.');
  return 0;
}

/** Says what still uses Mayfly's files, if anything does. */
async function isInUse(host: InstalledHost): Promise<boolean> {
  const problems = await findUses(host);
  if (problems.length === 0) return false;
  const lines = problems.map((problem) => `  • ${problem}`);
  host.print(['Mayfly is still in use. Nothing was changed.', ...lines].join('\n'));
  return true;
}

/** Removes the file of settings, and its folder if nothing else is in it: operators keep certificates there. */
async function removeSettings(path: string): Promise<void> {
  await rm(path, { force: true });
  await rmdir(dirname(path)).catch(() => {});
}

async function findUses({ cacheDir, dataDir, findUsed }: InstalledHost): Promise<readonly string[]> {
  const problems: string[] = [];
  if (isDataFolderInUse(dataDir)) {
    problems.push(`A service is using the data folder ${dataDir}. Stop it, then run npm run destroy.`);
  } else if (await containsUsedFile(cacheDir, await findUsed())) {
    problems.push(
      `Sandboxes or another service are using files in ${cacheDir}. Stop all services, then run npm run destroy for each data folder (MAYFLY_DATA_DIR).`,
    );
  }
  return problems;
}

async function takeDownNetwork(stateDir: string): Promise<boolean> {
  await takeDownUnusedHost(stateDir);
  return !existsSync(join(stateDir, 'network.json'));
}

/** The recorded packages that can be removed without removing a package that set-up did not install. */
async function findRemovablePackages({ cacheDir, apt, installed, print }: InstalledHost): Promise<readonly string[]> {
  const present = await installed();
  const added = (await readAddedPackages(cacheDir)).filter((name) => present.has(name));
  const removable: string[] = [];
  for (const name of added) {
    const simulated = await apt(['--simulate', 'remove', '--yes', name]);
    const others = Array.from(simulated.matchAll(/^Remv ([^\s:]+)/gm), ([, removed = '']) => removed);
    const needed = others.filter((other) => !added.includes(other));
    if (needed.length === 0) removable.push(name);
    else print(`The Debian package ${name} is kept, because these need it: ${needed.join(', ')}.`);
  }
  return removable;
}

/** Removes only what set-up creates in a cache folder, and the folder itself if nothing else is in it. */
async function removeCache(cacheDir: string, forgetPackages: boolean): Promise<void> {
  for (const { path, kind } of await listEntries(cacheDir)) {
    await removeTree(path);
    await rmdir(join(cacheDir, kind)).catch(() => {});
  }
  for (const name of ['.building', '.locks', 'go-build', 'go-path']) await removeTree(join(cacheDir, name));
  if (forgetPackages) await rm(addedPackagesPath(cacheDir), { force: true });
  await rmdir(cacheDir).catch(() => {});
}

function parse(args: readonly string[], print: (line: string) => void) {
  const flag = { type: 'boolean', default: false } as const;
  try {
    return parseArgs({ args: [...args], options: { yes: flag, data: flag, help: flag } }).values;
  } catch (error) {
    print(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return undefined;
  }
}

async function askOnTerminal(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}
