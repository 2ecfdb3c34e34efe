import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReportDetail } from '../announce.ts';
import { runCommand } from '../run-command.ts';
import { findSignedBy, formatSources } from './apt-sources.ts';
import type { AptArchive } from './facts.ts';
import { aptInstallCalls, backportsSourcesPath, bringsServer, type InstallPlan } from './install-plan.ts';
import { withoutOwnCluster } from './postgres-cluster.ts';
import { debianKeyring } from './required-tools.ts';

const aptOptions = ['-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=5', '--quiet'];

/** Installs what the plan says with apt-get; waits for other users of apt. Needs root. */
export async function installPackages(plan: InstallPlan, report: ReportDetail, signal?: AbortSignal): Promise<void> {
  // Nobody is asked anything, and settings that are there are kept.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', UCF_FORCE_CONFFOLD: '1' };
  const options = { env, onLine: report, ...(signal && { signal }) };
  if (plan.archiveToAdd) await addArchive(plan.archiveToAdd);
  await runCommand('apt-get', [...aptOptions, 'update'], options);
  for (const call of aptInstallCalls(plan)) {
    const install = async () => void (await runCommand('apt-get', [...aptOptions, ...call], options));
    await (bringsServer(call) ? withoutOwnCluster(install) : install());
  }
}

async function addArchive(archive: AptArchive): Promise<void> {
  const signedBy = (await readSignedBy(archive.uri)) ?? debianKeyring;
  const temporary = `${backportsSourcesPath}.${process.pid}.new`;
  await writeFile(temporary, formatSources(archive, signedBy));
  await rename(temporary, backportsSourcesPath);
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
