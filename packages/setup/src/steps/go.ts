import { chmod, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '@mayfly/server/system';
import { type CacheEntry, findEntry } from '../cache/entry.ts';
import { digestFolder, hashValues } from '../cache/keys.ts';
import { projectRoot } from '../environment.ts';
import { findCommand, tryProgram } from '../requirements/probe.ts';
import { findVersion, isAtLeast } from '../requirements/requirements.ts';
import { makeDebianTree } from './debian-tree.ts';
import { ensureStep, type StepContext } from './step.ts';

/** One of the project's Go modules. */
export interface GoModule {
  readonly title: string;
  readonly folder: string;
  /** Other modules of the project that its go.mod names. */
  readonly uses?: readonly GoModule[];
}

/** A module that is built as a static binary. */
export interface GoProgram extends GoModule {
  /** Its kind in the cache and the name of the binary. */
  readonly name: string;
}

/** The filters of system calls of the other modules. */
const seccompModule: GoModule = { title: 'filters of system calls', folder: join(projectRoot, 'native/seccomp') };

/** The guest's init and agent. */
export const agentProgram: GoProgram = {
  name: 'agent',
  title: 'guest agent',
  folder: join(projectRoot, 'guest/agent'),
};

/** The jail of every machine's QEMU. */
export const jailProgram: GoProgram = {
  name: 'jail',
  title: 'jail',
  folder: join(projectRoot, 'native/jail'),
  uses: [seccompModule],
};

/** The name resolver of the machines' networks. */
export const netProgram: GoProgram = {
  name: 'net',
  title: 'name resolver',
  folder: join(projectRoot, 'native/net'),
  uses: [seccompModule],
};

/** What makes the memory layers of snapshots. */
export const ramProgram: GoProgram = { name: 'ram', title: 'memory layers', folder: join(projectRoot, 'native/ram') };

/** All Go modules of the project. */
export const goModules: readonly GoModule[] = [agentProgram, jailProgram, netProgram, ramProgram, seccompModule];

const programRecipe = '2';
/** The first Go with HTTP/2 without TLS in its standard library. */
export const minimumGoVersion = '1.24';
const debianGo = { recipe: '1', packages: 'golang-1.24-go,golang-1.24-src', root: 'usr/lib/go-1.24' };

/** No downloads of modules or of another compiler. */
const withoutDownloads = {
  GOTOOLCHAIN: 'local',
  GOPROXY: 'off',
  GOFLAGS: '-mod=readonly -trimpath',
  GOENV: 'off',
};

/** The Go compiler to use, chosen without downloading anything. */
export interface GoChoice {
  /** Changes when another compiler is used. */
  readonly identity: string;
  /** The host's own go command; undefined for Debian 13's. */
  readonly hostCommand: string | undefined;
}

/** A compiler that is ready to run. */
export interface GoToolchain {
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Chooses the host's Go if it is new enough, else Debian 13's. */
export async function chooseGo(arch: string): Promise<GoChoice> {
  return (await findHostGo()) ?? debianGoChoice(arch);
}

/** The host's own Go, with its usual caches; undefined when there is none or it is too old. */
export async function findHostToolchain(): Promise<GoToolchain | undefined> {
  const found = await findHostGo();
  return found && { command: found.hostCommand, env: withoutDownloads };
}

async function findHostGo() {
  const command = await findCommand('go');
  const printed = command && (await tryProgram(command, ['version'], { ...process.env, GOTOOLCHAIN: 'local' }));
  const version = printed && findVersion(printed);
  if (!printed || !version || !isAtLeast(version, minimumGoVersion)) return undefined;
  return { identity: printed.trim(), hostCommand: command };
}

/** Debian 13's compiler, which a host without a Go of its own uses. */
export function debianGoChoice(arch: string): GoChoice {
  return { identity: hashValues({ ...debianGo, arch }), hostCommand: undefined };
}

/** The chosen compiler, downloaded if it is not the host's. Debian's is static and runs from any folder. */
export async function ensureGoToolchain(context: StepContext, choice: GoChoice): Promise<GoToolchain> {
  const shared = {
    ...withoutDownloads,
    GOCACHE: join(context.cacheDir, 'go-build'),
    GOPATH: join(context.cacheDir, 'go-path'),
  };
  if (choice.hostCommand) return { command: choice.hostCommand, env: shared };
  const entry = { kind: 'go-toolchain', key: choice.identity };
  const folder = await ensureStep(context, 'Go compiler (Debian 13)', entry, async (stagingDir, report) => {
    const args = ['--variant=extract', `--include=${debianGo.packages}`];
    await makeDebianTree(context, stagingDir, { args, report });
    for (const name of await readdir(stagingDir)) {
      if (name !== 'usr') await rm(join(stagingDir, name), { recursive: true });
    }
  });
  const root = join(folder, debianGo.root);
  return { command: join(root, 'bin/go'), env: { ...shared, GOROOT: root } };
}

/** The cache entry of a program for its current sources. */
export async function programEntry(program: GoProgram, arch: string, go: GoChoice): Promise<CacheEntry> {
  const isSource = (path: string) =>
    (path.endsWith('.go') && !path.endsWith('_test.go')) || path === 'go.mod' || path === 'go.sum';
  const folders = [program, ...(program.uses ?? [])].map(({ folder }) => folder);
  const sources = (await Promise.all(folders.map((folder) => digestFolder(folder, isSource)))).join(' ');
  return { kind: program.name, key: hashValues({ recipe: programRecipe, arch, go: go.identity, sources }) };
}

/** Path of a program's binary, compiled if it is not cached. */
export async function ensureProgram(
  context: StepContext,
  program: GoProgram,
  entry: CacheEntry,
  go: GoChoice,
): Promise<string> {
  // The compiler is announced as a step of its own, and is not needed for a cached program.
  const toolchain = (await findEntry(context.cacheDir, entry)) ? undefined : await ensureGoToolchain(context, go);
  const folder = await ensureStep(context, program.title, entry, async (stagingDir, report) => {
    const { command, env } = toolchain ?? (await ensureGoToolchain(context, go));
    report('compiling');
    const ldflags = `-s -w -X main.version=${entry.key}`;
    await runProgram(command, ['build', '-ldflags', ldflags, '-o', join(stagingDir, program.name), '.'], {
      cwd: program.folder,
      env: { ...process.env, ...env, CGO_ENABLED: '0', GOOS: 'linux', GOARCH: goArchitecture(context.arch) },
      onLine: report,
      signal: context.signal,
    });
    // The resolver's user runs the program too, whatever root's umask.
    await chmod(join(stagingDir, program.name), 0o755);
  });
  return join(folder, program.name);
}

/** Go's name for a Node.js architecture. */
function goArchitecture(arch: 'arm64' | 'x64'): string {
  return arch === 'x64' ? 'amd64' : 'arm64';
}
