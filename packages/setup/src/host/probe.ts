import { constants, globSync } from 'node:fs';
import { access, readFile, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { tryCommand } from '../run-command.ts';
import { parsePrintedUris } from './apt-sources.ts';
import type { Distribution, FoundTool, HostFacts, HostMemory } from './facts.ts';
import { type RequiredTool, requiredTools } from './required-tools.ts';
import { findVersion } from './version.ts';

/** Administrators' tools are often not on a user's PATH. */
const systemFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/bin', '/bin'];
/** Debian puts PostgreSQL's programs into a folder for each version. */
const versionedFolders = '/usr/lib/postgresql/*/bin';

/** Looks at the host; changes nothing and never fails over something that is missing. */
export async function probeHost(cacheDir: string): Promise<HostFacts> {
  const { platform, arch } = process;
  const [memory, cacheFreeBytes, distribution, apt, tools] = await Promise.all([
    readMemory(),
    readFreeBytes(cacheDir),
    readDistribution(),
    findCommand('apt-get'),
    findTools(requiredTools(arch, 'tests')),
  ]);
  const printed = apt && (await tryCommand(apt, ['--print-uris', 'update']));
  return {
    platform,
    arch,
    isRoot: process.getuid?.() === 0,
    memory,
    cacheFreeBytes,
    distribution,
    hasApt: apt !== undefined,
    tools,
    archives: parsePrintedUris(printed ?? ''),
  };
}

/** Absolute path of a command, or of the file itself if the name is a path; undefined when there is none. */
export async function findCommand(name: string): Promise<string | undefined> {
  const folders = name.startsWith('/') ? [''] : searchedFolders();
  const mode = name.startsWith('/') ? constants.R_OK : constants.X_OK;
  for (const folder of folders) {
    const path = join(folder, name);
    if (
      await access(path, mode).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return undefined;
}

function searchedFolders(): readonly string[] {
  return [...(process.env.PATH ?? '').split(':'), ...systemFolders, ...globSync(versionedFolders)];
}

async function findTools(required: readonly RequiredTool[]): Promise<ReadonlyMap<string, FoundTool>> {
  const found = new Map<string, FoundTool>();
  const search = async ({ name, minimumVersion }: RequiredTool) => {
    const path = await findCommand(name);
    if (path === undefined) return;
    const version = minimumVersion && findVersion((await tryCommand(path, ['--version'])) ?? '');
    found.set(name, { path, version });
  };
  await Promise.all(required.map(search));
  return found;
}

async function readMemory(): Promise<HostMemory> {
  const text = await readFile('/proc/meminfo', 'utf8').catch(() => '');
  const readBytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024;
  return { totalBytes: readBytes('MemTotal'), availableBytes: readBytes('MemAvailable') };
}

/** Free bytes where the folder is, or would be made. */
async function readFreeBytes(folder: string): Promise<number> {
  const status = await statfs(folder).catch(() => undefined);
  if (status) return status.bavail * status.bsize;
  return folder === '/' ? 0 : await readFreeBytes(dirname(folder));
}

async function readDistribution(): Promise<Distribution> {
  const text = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const read = (field: string) => new RegExp(`^${field}="?([^"\n]*)"?$`, 'm').exec(text)?.[1] ?? '';
  return { id: read('ID'), codename: read('VERSION_CODENAME'), name: read('PRETTY_NAME') || 'this system' };
}
