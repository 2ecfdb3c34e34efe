import { copyFile, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runProgram } from '@mayfly/server/system';
import type { ReportDetail } from '../announce.ts';
import type { InstallPlan } from './install-plan.ts';
import { aptInstallCalls, backportsSourcesPath, bringsServer, findSignedBy, formatSources } from './install-plan.ts';
import { tryProgram } from './probe.ts';
import { type AptArchive, debianKeyring } from './requirements.ts';

/** Runs apt-get with arguments. */
export type RunApt = (args: readonly string[], onLine?: ReportDetail, signal?: AbortSignal) => Promise<string>;

const aptOptions = ['-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=5', '--quiet'];

/** Runs apt-get without asking questions. Waits for other users of apt and keeps existing settings. Needs root. */
export const runApt: RunApt = async (args, onLine, signal) => {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', UCF_FORCE_CONFFOLD: '1', LC_ALL: 'C.UTF-8' };
  return await runProgram('apt-get', [...aptOptions, ...args], {
    env,
    ...(onLine && { onLine }),
    ...(signal && { signal }),
  });
};

/** Installs what the plan says and records which packages are new, so that uninstalling removes only those. */
export async function installPackages(
  plan: InstallPlan,
  cacheDir: string,
  report: ReportDetail,
  signal: AbortSignal,
): Promise<void> {
  const present = await installedPackages();
  const added = [...plan.packages, ...plan.backportsPackages].filter((name) => !present.has(name));
  await recordAddedPackages(cacheDir, added);
  if (plan.archiveToAdd) await addArchive(plan.archiveToAdd);
  await runApt(['update'], report, signal);
  for (const call of aptInstallCalls(plan)) {
    const install = async () => void (await runApt(call, report, signal));
    await (bringsServer(call) ? withoutMainCluster(install) : install());
  }
}

/** The packages that set-up installed on this host and that were not there before. */
export async function readAddedPackages(cacheDir: string): Promise<readonly string[]> {
  const text = await readFile(addedPackagesPath(cacheDir), 'utf8').catch(() => '');
  return text.split('\n').filter((name) => name !== '');
}

/** Adds packages to the record. Written before they are installed, so that an interrupted set-up is recorded too. */
export async function recordAddedPackages(cacheDir: string, names: readonly string[]): Promise<void> {
  const all = new Set([...(await readAddedPackages(cacheDir)), ...names]);
  if (all.size === 0) return;
  await mkdir(cacheDir, { recursive: true });
  await replaceFile(addedPackagesPath(cacheDir), `${[...all].sort().join('\n')}\n`);
}

/** The names of all Debian packages that are installed. */
export async function installedPackages(): Promise<ReadonlySet<string>> {
  const selections = (await tryProgram('dpkg', ['--get-selections'])) ?? '';
  return new Set(Array.from(selections.matchAll(/^([^\s:]+)\S*\s+(?:install|hold)$/gm), ([, name = '']) => name));
}

/** The key that the host's own configuration names for an archive. */
export async function readSignedBy(uri: string): Promise<string | undefined> {
  const folder = '/etc/apt/sources.list.d';
  const names = await readdir(folder).catch(() => []);
  const paths = names.filter((name) => /\.(list|sources)$/.test(name)).map((name) => join(folder, name));
  for (const path of ['/etc/apt/sources.list', ...paths]) {
    const signedBy = findSignedBy(await readFile(path, 'utf8').catch(() => ''), uri);
    if (signedBy) return signedBy;
  }
  return undefined;
}

async function addArchive(archive: AptArchive): Promise<void> {
  const signedBy = (await readSignedBy(archive.uri)) ?? debianKeyring;
  await replaceFile(backportsSourcesPath, formatSources(archive, signedBy));
}

/** Debian's packages read this file before they create and start a server. */
const clusterConfPath = '/etc/postgresql-common/createcluster.conf';
/** The file as the package ships it. */
const packagedClusterConfPath = '/usr/share/postgresql-common/createcluster.conf';

/** Installs PostgreSQL without the server that its package would create and start, then restores the host's settings. */
async function withoutMainCluster(install: () => Promise<void>): Promise<void> {
  const before = await readFile(clusterConfPath, 'utf8').catch(() => undefined);
  await mkdir(dirname(clusterConfPath), { recursive: true });
  await writeFile(clusterConfPath, disableMainCluster(before ?? ''));
  try {
    await install();
  } finally {
    if (before !== undefined) await writeFile(clusterConfPath, before);
    else await copyFile(packagedClusterConfPath, clusterConfPath).catch(() => undefined);
  }
}

/** The settings, changed so that the package creates no server. */
export function disableMainCluster(conf: string): string {
  const others = conf.split('\n').filter((line) => !/^\s*create_main_cluster\b/.test(line));
  return `${others.join('\n').trimEnd()}\ncreate_main_cluster = false\n`.trimStart();
}

/** The record of packages that set-up installed. */
export function addedPackagesPath(cacheDir: string): string {
  return join(cacheDir, 'installed-packages');
}

async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.new`;
  await writeFile(temporary, text);
  await rename(temporary, path);
}
