import { join } from 'node:path';
import { type CacheEntry, hasEntry } from '../cache/entry.ts';
import { digestFolder, hashValues } from '../hash-inputs.ts';
import { projectRoot } from '../project-root.ts';
import { runCommand } from '../run-command.ts';
import { ensureStep, type StepContext } from './context.ts';
import { ensureGoToolchain, type GoChoice } from './go-toolchain.ts';

/** Where the agent's Go module lies. */
export const agentFolder = join(projectRoot, 'guest/agent');

const recipe = '1';

/** The cache entry of the agent as its sources are now. */
export async function agentEntry(arch: string, go: GoChoice): Promise<CacheEntry> {
  const isSource = (path: string) =>
    (path.endsWith('.go') && !path.endsWith('_test.go')) || path === 'go.mod' || path === 'go.sum';
  return {
    kind: 'agent',
    key: hashValues({ recipe, arch, go: go.identity, sources: await digestFolder(agentFolder, isSource) }),
  };
}

/** Path of the static agent binary, which is also the guest's init. */
export async function ensureAgent(context: StepContext, entry: CacheEntry, go: GoChoice): Promise<string> {
  // The compiler is a step of its own, and not needed for an agent that is there.
  const toolchain = (await hasEntry(context.cacheDir, entry)) ? undefined : await ensureGoToolchain(context, go);
  const folder = await ensureStep(context, 'guest agent', entry, async (building, report) => {
    const { command, env } = toolchain ?? (await ensureGoToolchain(context, go));
    report('compiling');
    const ldflags = `-s -w -X main.version=${entry.key}`;
    await runCommand(command, ['build', '-ldflags', ldflags, '-o', join(building, 'agent'), '.'], {
      cwd: agentFolder,
      env: { ...process.env, ...env, CGO_ENABLED: '0', GOOS: 'linux', GOARCH: goArchitecture(context.arch) },
      onLine: report,
      signal: context.signal,
    });
  });
  return join(folder, 'agent');
}

/** Go's name of a Node.js architecture. */
function goArchitecture(arch: 'arm64' | 'x64'): string {
  return arch === 'x64' ? 'amd64' : 'arm64';
}
