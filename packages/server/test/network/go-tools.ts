import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The paths of the programs of native/net. */
export interface GoTools {
  readonly helperPath: string;
  readonly testguestPath: string;
}

/** The Go compiler that `npm test` chose, or the one on the PATH. */
export const goCommand = process.env.MAYFLY_TEST_GO ?? 'go';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const cacheFolder = join(root, 'node_modules/.cache/mayfly-net');

/** Whether the Go programs of the host can be built here: a Go that is too old refuses to load their modules. */
export function hasGo(): boolean {
  const env = { ...process.env, GOTOOLCHAIN: 'local' };
  return spawnSync(goCommand, ['list', '-m'], { cwd: join(root, 'native/jail'), env, stdio: 'ignore' }).status === 0;
}

/** Builds the programs of native/net. The result is cached until their sources change. */
export function goTools(): GoTools {
  const folder = buildOnce('native/net', ['.', './testguest']);
  return { helperPath: join(folder, 'net'), testguestPath: join(folder, 'testguest') };
}

/** Builds native/jail and returns the path of the program. */
export function jailProgram(): string {
  return join(buildJail(), 'jail');
}

/** Builds the program that tries what a compromised service would, and returns its path. */
export function probeProgram(): string {
  return join(buildJail(), 'probe');
}

function buildJail(): string {
  return buildOnce('native/jail', ['.', './probe']);
}

function buildOnce(module: string, packages: readonly string[]): string {
  const cwd = join(root, module);
  // Both modules use the filters of system calls.
  const folder = join(cacheFolder, digestSources([cwd, join(root, 'native/seccomp')]));
  if (!existsSync(folder)) build(cwd, packages, folder);
  return folder;
}

function digestSources(modules: readonly string[]): string {
  const hash = createHash('sha256').update(process.arch);
  for (const cwd of modules) {
    for (const path of globSync('**/*.go', { cwd }).sort()) hash.update(readFileSync(join(cwd, path)));
  }
  return hash.digest('hex').slice(0, 16);
}

function build(cwd: string, packages: readonly string[], folder: string): void {
  mkdirSync(cacheFolder, { recursive: true });
  const stagingDir = mkdtempSync(join(cacheFolder, 'building-'));
  try {
    const env = { ...process.env, CGO_ENABLED: '0' };
    execFileSync(goCommand, ['build', '-o', `${stagingDir}/`, ...packages], { cwd, env });
    if (!existsSync(folder)) renameSync(stagingDir, folder);
  } finally {
    rmSync(stagingDir, { recursive: true, force: true });
  }
}
