import { constants, globSync } from 'node:fs';
import { access, readFile, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runProgram } from '@mayfly/server/system';
import {
  type AptArchive,
  type Distribution,
  type FoundTool,
  findVersion,
  type HostFacts,
  type HostMemory,
  type RequiredTool,
  requiredTools,
} from './requirements.ts';

/** Administrators' tools are often not on a user's PATH. */
const systemFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/bin', '/bin'];
/** Debian puts PostgreSQL's programs into a folder for each version. */
const versionedFolders = '/usr/lib/postgresql/*/bin';

/** Inspects the host. Changes nothing, and never fails because something is missing. */
export async function probeHost(cacheDir: string): Promise<HostFacts> {
  const { platform, arch } = process;
  const [memory, cacheFreeBytes, distribution, apt, tools] = await Promise.all([
    readMemory(),
    readFreeBytes(cacheDir),
    readDistribution(),
    findCommand('apt-get'),
    findTools(requiredTools(arch, 'tests')),
  ]);
  const printedUris = apt && (await tryProgram(apt, ['--print-uris', 'update']));
  return {
    platform,
    arch,
    isRoot: process.getuid?.() === 0,
    memory,
    cacheFreeBytes,
    distribution,
    hasApt: apt !== undefined,
    tools,
    archives: parsePrintedUris(printedUris ?? ''),
  };
}

/** Absolute path of a command, or of the file itself if the name is a path; undefined when there is none. */
export async function findCommand(name: string): Promise<string | undefined> {
  const isPath = name.startsWith('/');
  for (const folder of isPath ? [''] : searchedFolders()) {
    const path = join(folder, name);
    if (await isAccessible(path, isPath ? constants.R_OK : constants.X_OK)) return path;
  }
  return undefined;
}

/** What a program printed, or undefined when it is missing or fails. */
export async function tryProgram(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  return await runProgram(program, args, { env }).catch(() => undefined);
}

/** The archives in the output of `apt-get --print-uris update`, each suite once. */
export function parsePrintedUris(output: string): readonly AptArchive[] {
  const archives = new Map<string, AptArchive>();
  for (const line of output.split('\n')) {
    const [, uri, suite] = /^'(.+?)\/+dists\/(.+?)\/(?:InRelease|Release)'/.exec(line) ?? [];
    if (uri !== undefined && suite !== undefined) archives.set(`${uri} ${suite}`, { uri, suite });
  }
  return [...archives.values()];
}

function searchedFolders(): readonly string[] {
  return [...(process.env.PATH ?? '').split(':'), ...systemFolders, ...globSync(versionedFolders)];
}

async function isAccessible(path: string, mode: number): Promise<boolean> {
  return await access(path, mode).then(
    () => true,
    () => false,
  );
}

async function findTools(required: readonly RequiredTool[]): Promise<ReadonlyMap<string, FoundTool>> {
  const found = new Map<string, FoundTool>();
  const search = async ({ name, minimumVersion }: RequiredTool) => {
    const path = await findCommand(name);
    if (path === undefined) return;
    const version = minimumVersion && findVersion((await tryProgram(path, ['--version'])) ?? '');
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

/** Free bytes where the folder is, or will be created. */
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
