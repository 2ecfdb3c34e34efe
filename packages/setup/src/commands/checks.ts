import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { join } from 'node:path';
import { type Announcer, formatElapsed } from '../announce.ts';
import { projectRoot } from '../environment.ts';
import type { Prepared, PreparedParts } from '../prepare.ts';
import { ensureGoToolchain, type GoProgram, goPrograms } from '../steps/go.ts';

/** One program of `npm test`. It passes if the exit code is 0. */
export interface Check {
  readonly title: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  /** Variables beside those of all checks. */
  readonly env?: Readonly<Record<string, string>>;
}

/** What checks need to run. */
export interface CheckTools {
  readonly announcer: Announcer;
  /** The Go compiler. */
  readonly go: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Runs every check in order and stops at the first that fails. With arguments, runs only vitest with these arguments. */
export async function runTests(prepared: Prepared, args: readonly string[]): Promise<number> {
  const tools = await prepareChecks(prepared);
  const tests = vitest('tests', args);
  return await runChecks(args.length === 0 ? [...staticChecks, ...goChecks(tools.go), tests] : [tests], tools);
}

/** Makes the Go compiler ready, and the environment in which checks run. */
export async function prepareChecks({ context, plan }: PreparedParts): Promise<CheckTools> {
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
  return { announcer: context.announcer, go: go.command, env };
}

/** Runs checks in order and returns the exit code of the first that fails, or 0. */
export async function runChecks(checks: readonly Check[], tools: CheckTools): Promise<number> {
  for (const check of checks) {
    const code = await runCheck(check, tools);
    if (code !== 0) return code;
  }
  return 0;
}

/** Runs one check, says how long it took, and returns its exit code. */
export async function runCheck({ title, program, args, cwd, env }: Check, tools: CheckTools): Promise<number> {
  const startedMs = performance.now();
  tools.announcer.line(`▸ ${title}`);
  const code = await runInherited(program, args, { env: { ...tools.env, ...env }, ...(cwd && { cwd }) });
  const elapsed = formatElapsed(performance.now() - startedMs);
  tools.announcer.line(code === 0 ? `✓ ${title} … ${elapsed}` : `✗ ${title} … ${elapsed}, exit code ${code}`);
  return code;
}

/** The checks that run no code of the project. */
export const staticChecks: readonly Check[] = [
  { title: 'types', program: localProgram('tsc'), args: ['-p', '.'] },
  { title: 'lint and format', program: localProgram('biome'), args: ['check', '.'] },
  { title: 'lint with types', program: localProgram('oxlint'), args: ['--type-aware'] },
  { title: 'import directions', program: localProgram('depcruise'), args: ['packages'] },
  { title: 'unused code', program: localProgram('knip'), args: [] },
];

/** The checks and tests of Go modules, by default of all. `go` is the compiler. */
export function goChecks(go: string, programs: readonly GoProgram[] = goPrograms): readonly Check[] {
  return programs.flatMap(({ title, folder: cwd }) => [
    { title: `${title}: vet`, program: go, args: ['vet', './...'], cwd },
    { title: `${title}: tests`, program: go, args: ['test', './...'], cwd },
  ]);
}

/** Tests that vitest selects by its arguments. */
export function vitest(title: string, args: readonly string[]): Check {
  return { title, program: localProgram('vitest'), args: ['run', ...args] };
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
