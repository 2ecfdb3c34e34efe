import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { join } from 'node:path';
import { formatElapsed } from '../announce.ts';
import { projectRoot } from '../environment.ts';
import type { Prepared } from '../prepare.ts';
import { agentProgram, ensureGoToolchain, jailProgram, netProgram, ramProgram } from '../steps/go.ts';

interface Check {
  readonly title: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd?: string;
}

/** Runs every check in order and stops at the first that fails. With arguments, runs only vitest with these arguments. */
export async function runTests({ context, plan }: Prepared, args: readonly string[]): Promise<number> {
  const go = await ensureGoToolchain(context, plan.go);
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    ...go.env,
    // As the programs are built: with cgo, which Go uses where it finds a C compiler, some system calls behave differently.
    CGO_ENABLED: '0',
    PATH: `${join(projectRoot, 'node_modules/.bin')}:${process.env.PATH}`,
    // Some suites compile helpers. The compiler is not put on the PATH, where set-up would take it for the host's own Go.
    MAYFLY_TEST_GO: go.command,
  };
  const vitest: Check = { title: 'tests', program: localProgram('vitest'), args: ['run', ...args] };
  for (const check of args.length === 0 ? [...staticChecks(go.command), vitest] : [vitest]) {
    const startedMs = performance.now();
    context.announcer.line(`▸ ${check.title}`);
    const code = await runInherited(check.program, check.args, { env, ...(check.cwd && { cwd: check.cwd }) });
    const elapsed = formatElapsed(performance.now() - startedMs);
    context.announcer.line(
      code === 0 ? `✓ ${check.title} … ${elapsed}` : `✗ ${check.title} … ${elapsed}, exit code ${code}`,
    );
    if (code !== 0) return code;
  }
  return 0;
}

function staticChecks(go: string): readonly Check[] {
  return [
    { title: 'types', program: localProgram('tsc'), args: ['-p', '.'] },
    { title: 'lint and format', program: localProgram('biome'), args: ['check', '.'] },
    { title: 'lint with types', program: localProgram('oxlint'), args: ['--type-aware'] },
    { title: 'import directions', program: localProgram('depcruise'), args: ['packages'] },
    { title: 'unused code', program: localProgram('knip'), args: [] },
    ...[agentProgram, jailProgram, netProgram, ramProgram].flatMap(({ title, folder: cwd }) => [
      { title: `${title}: vet`, program: go, args: ['vet', './...'], cwd },
      { title: `${title}: tests`, program: go, args: ['test', './...'], cwd },
    ]),
  ];
}

/** Runs the benchmarks and returns their exit code. */
export async function runBench(args: readonly string[]): Promise<number> {
  return await runInherited(process.execPath, ['bench/run.ts', ...args]);
}

/** Prints figures of the code's layout, by default of this checkout. */
export async function printCodeMetrics(args: readonly string[]): Promise<number> {
  return await runInherited(process.execPath, ['scripts/code-metrics.ts', ...args]);
}

/** Runs a program on this terminal and returns its exit code; 128 + signal when a signal killed it. */
export async function runInherited(
  program: string,
  args: readonly string[],
  { cwd = projectRoot, env = process.env }: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<number> {
  const child = spawn(program, args, { cwd, env, stdio: 'inherit' });
  const forward = (signal: NodeJS.Signals) => {
    // A terminal sends Ctrl-C to the program itself.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  process.on('SIGINT', forward).on('SIGTERM', forward).on('SIGHUP', forward);
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return code ?? 128 + (signal ? constants.signals[signal] : 0);
  } finally {
    process.off('SIGINT', forward).off('SIGTERM', forward).off('SIGHUP', forward);
  }
}

/** Path of a program that npm installed into the checkout. */
export function localProgram(name: string): string {
  return join(projectRoot, 'node_modules/.bin', name);
}
