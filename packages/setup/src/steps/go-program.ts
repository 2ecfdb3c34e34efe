import { join } from 'node:path';
import { type CacheEntry, hasEntry } from '../cache/entry.ts';
import { digestFolder, hashValues } from '../hash-inputs.ts';
import { projectRoot } from '../project-root.ts';
import { runCommand } from '../run-command.ts';
import { ensureStep, type StepContext } from './context.ts';
import { ensureGoToolchain, type GoChoice } from './go-toolchain.ts';

/** One of the project's Go modules: a static program. */
export interface GoProgram {
  /** Its kind in the cache and the name of the binary. */
  readonly name: string;
  readonly title: string;
  /** Folder of the module. */
  readonly folder: string;
}

/** The guest's init and agent. */
export const agentProgram: GoProgram = {
  name: 'agent',
  title: 'guest agent',
  folder: join(projectRoot, 'guest/agent'),
};

/** The jail of every machine's QEMU. */
export const jailProgram: GoProgram = { name: 'jail', title: 'jail', folder: join(projectRoot, 'host/jail') };

/** The resolver of the machines' networks. */
export const netProgram: GoProgram = { name: 'net', title: 'name resolver', folder: join(projectRoot, 'host/net') };

const recipe = '2';

/** The cache entry of a program as its sources are now. */
export async function programEntry(program: GoProgram, arch: string, go: GoChoice): Promise<CacheEntry> {
  const isSource = (path: string) =>
    (path.endsWith('.go') && !path.endsWith('_test.go')) || path === 'go.mod' || path === 'go.sum';
  const sources = await digestFolder(program.folder, isSource);
  return { kind: program.name, key: hashValues({ recipe, arch, go: go.identity, sources }) };
}

/** Path of the static binary. */
export async function ensureProgram(
  context: StepContext,
  program: GoProgram,
  entry: CacheEntry,
  go: GoChoice,
): Promise<string> {
  // The compiler is a step of its own, and not needed for a program that is there.
  const toolchain = (await hasEntry(context.cacheDir, entry)) ? undefined : await ensureGoToolchain(context, go);
  const folder = await ensureStep(context, program.title, entry, async (building, report) => {
    const { command, env } = toolchain ?? (await ensureGoToolchain(context, go));
    report('compiling');
    const ldflags = `-s -w -X main.version=${entry.key}`;
    await runCommand(command, ['build', '-ldflags', ldflags, '-o', join(building, program.name), '.'], {
      cwd: program.folder,
      env: { ...process.env, ...env, CGO_ENABLED: '0', GOOS: 'linux', GOARCH: goArchitecture(context.arch) },
      onLine: report,
      signal: context.signal,
    });
  });
  return join(folder, program.name);
}

/** Go's name of a Node.js architecture. */
function goArchitecture(arch: 'arm64' | 'x64'): string {
  return arch === 'x64' ? 'amd64' : 'arm64';
}
