import { join } from 'node:path';
import { formatElapsed } from '../announce.ts';
import type { Prepared } from '../prepare.ts';
import { projectRoot } from '../project-root.ts';
import { agentProgram, jailProgram, netProgram } from '../steps/go-program.ts';
import { ensureGoToolchain } from '../steps/go-toolchain.ts';
import { runInherited } from './run-inherited.ts';

interface TestStep {
  readonly title: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd?: string;
}

/** Every check in order, stopping at the first that fails; with arguments only vitest, with these arguments. */
export async function runTests({ context, plan }: Prepared, args: readonly string[]): Promise<number> {
  const vitest: TestStep = { title: 'tests', file: localBinary('vitest'), args: ['run', ...args] };
  const steps: TestStep[] = [vitest];
  const go = await ensureGoToolchain(context, plan.go);
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    ...go.env,
    PATH: `${join(projectRoot, 'node_modules/.bin')}:${process.env.PATH}`,
    // Some suites build helpers of their own. Not on the PATH: set-up would take it for the host's own Go.
    MAYFLY_TEST_GO: go.command,
  };
  if (args.length === 0) {
    steps.unshift(
      { title: 'types', file: localBinary('tsc'), args: ['-p', '.'] },
      { title: 'lint and format', file: localBinary('biome'), args: ['check', '.'] },
      { title: 'lint with types', file: localBinary('oxlint'), args: ['--type-aware'] },
      { title: 'import directions', file: localBinary('depcruise'), args: ['packages'] },
      { title: 'unused code', file: localBinary('knip'), args: [] },
      ...[agentProgram, jailProgram, netProgram].flatMap(({ title, folder: cwd }) => [
        { title: `${title}: vet`, file: go.command, args: ['vet', './...'], cwd },
        { title: `${title}: tests`, file: go.command, args: ['test', './...'], cwd },
      ]),
    );
  }
  for (const step of steps) {
    const startedMs = performance.now();
    context.announcer.line(`▸ ${step.title}`);
    const code = await runInherited(step.file, step.args, { env, ...(step.cwd && { cwd: step.cwd }) });
    const elapsed = formatElapsed(performance.now() - startedMs);
    context.announcer.line(
      code === 0 ? `✓ ${step.title} … ${elapsed}` : `✗ ${step.title} … ${elapsed}, exit code ${code}`,
    );
    if (code !== 0) return code;
  }
  return 0;
}

function localBinary(name: string): string {
  return join(projectRoot, 'node_modules/.bin', name);
}
