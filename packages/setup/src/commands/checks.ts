import { join } from 'node:path';
import { createAnnouncer } from '../announce.ts';
import { projectRoot } from '../environment.ts';
import type { Prepared, PreparedParts } from '../prepare.ts';
import {
  ensureGoToolchain,
  findHostToolchain,
  type GoModule,
  type GoToolchain,
  goModules,
  minimumGoVersion,
} from '../steps/go.ts';
import {
  type Check,
  type CheckOptions,
  localProgram,
  runAlone,
  runBeside,
  runInherited,
  runSideBySide,
} from './run-programs.ts';

/** What checks need to run. */
export interface CheckTools extends CheckOptions {
  /** The Go compiler. */
  readonly go: string;
}

/** TypeScript 7, several times as fast. Tools that use the compiler as a library need the package `typescript`, version 6. */
const compiler = join(projectRoot, 'node_modules/typescript-7/bin/tsc');

/** The checks that run no code of the project. Longest first, so that none is left to run alone at the end. */
export const staticChecks: readonly Check[] = [
  { title: 'lint with types', program: localProgram('oxlint'), args: ['--type-aware'] },
  { title: 'types', program: process.execPath, args: [compiler, '-p', '.'] },
  { title: 'types of the dashboard', program: process.execPath, args: [compiler, '-p', 'packages/dashboard'] },
  { title: 'import directions', program: localProgram('depcruise'), args: ['packages'] },
  { title: 'unused code', program: localProgram('knip'), args: [] },
  { title: 'lint and format', program: localProgram('biome'), args: ['check', '.'] },
];

/** Fewer fuzzed inputs than at full length, where they take more than a minute. */
const shortFuzzing = { MAYFLY_FUZZ_RUNS: '100' };

/** Runs all static checks and then, if they pass, all tests. With arguments, runs only vitest with these arguments. Returns the exit code. */
export async function runTests(prepared: Prepared, args: readonly string[]): Promise<number> {
  const tools = await prepareChecks(prepared);
  if (args.length > 0) return await runAlone(vitest('tests', args), tools);
  if (!(await passStaticChecks([...staticChecks, ...goChecks(tools.go)], tools))) return 1;
  // Unit tests leave nothing on the host that the others could take for a leak, and those wait a lot while they need the host for themselves.
  const onHost = vitest('tests on this host', ['--project', '!unit*']);
  return await runBeside(onHost, vitest('unit tests', ['--project', 'unit*']), tools);
}

/**
 * Runs what needs neither root nor set-up: the static checks, those of the Go programs if the host has a Go compiler, and the unit tests.
 * With arguments, runs only the unit tests, with these arguments of vitest. Returns the exit code.
 */
export async function runQuickCheck(args: readonly string[]): Promise<number> {
  const announcer = createAnnouncer(process.stderr);
  const go = await findHostToolchain();
  const env = checkEnvironment(go);
  const failed: string[] = [];
  if (args.length === 0) {
    if (!go) announcer.line(`  Go checks: skipped, because there is no Go ${minimumGoVersion} or newer on the PATH`);
    failed.push(...(await runSideBySide([...staticChecks, ...(go ? goChecks(go.command) : [])], { announcer, env })));
  }
  // The default loader writes into node_modules, which may belong to root.
  const unitTests = vitest('unit tests', ['--configLoader', 'runner', '--project', 'unit*', ...args]);
  if ((await runAlone(unitTests, { announcer, env })) !== 0) failed.push(unitTests.title);
  if (failed.length > 0) announcer.line(`Failed: ${failed.join(', ')}.`);
  return failed.length === 0 ? 0 : 1;
}

/** Makes the Go compiler ready, and the environment in which checks run. */
export async function prepareChecks({ context, plan }: PreparedParts): Promise<CheckTools> {
  const go = await ensureGoToolchain(context, plan.go);
  return { announcer: context.announcer, go: go.command, env: checkEnvironment(go) };
}

/** What a command runs: first checks, side by side, then tests, in order. */
export interface CheckPlan {
  readonly checks: readonly Check[];
  readonly tests: readonly Check[];
}

/** Runs all checks and then, if they pass, the tests up to the first that fails. Returns the exit code. */
export async function runChecks({ checks, tests }: CheckPlan, options: CheckOptions): Promise<number> {
  if (!(await passStaticChecks(checks, options))) return 1;
  for (const test of tests) {
    const code = await runAlone(test, options);
    if (code !== 0) return code;
  }
  return 0;
}

async function passStaticChecks(checks: readonly Check[], options: CheckOptions): Promise<boolean> {
  const failed = await runSideBySide(checks, options);
  if (failed.length === 0) return true;
  options.announcer.line(`Failed: ${failed.join(', ')}. The tests were not run.`);
  return false;
}

/** The checks and tests of Go modules, by default of all. `go` is the compiler. */
export function goChecks(go: string, modules: readonly GoModule[] = goModules): readonly Check[] {
  return modules.flatMap(({ title, folder: cwd }) => [
    { title: `${title}: vet`, program: go, args: ['vet', './...'], cwd },
    { title: `${title}: tests`, program: go, args: ['test', './...'], cwd },
  ]);
}

/** Tests that vitest selects by its arguments. */
export function vitest(title: string, args: readonly string[]): Check {
  return { title, program: localProgram('vitest'), args: ['run', ...args] };
}

function checkEnvironment(go: GoToolchain | undefined): NodeJS.ProcessEnv {
  return {
    ...(process.env.MAYFLY_TEST_LONG === '1' ? {} : shortFuzzing),
    ...process.env,
    ...go?.env,
    // As the programs are built: with cgo, which Go uses where it finds a C compiler, some system calls behave differently.
    CGO_ENABLED: '0',
    PATH: `${join(projectRoot, 'node_modules/.bin')}:${process.env.PATH}`,
    // Suites start hundreds of processes, half of whose work at the start is to compile the same files.
    NODE_COMPILE_CACHE: join(projectRoot, 'node_modules/.cache/node'),
    // Some suites compile helpers. The compiler is not put on the PATH, where set-up would take it for the host's own Go.
    ...(go && { MAYFLY_TEST_GO: go.command }),
  };
}

/** Runs the benchmarks and returns their exit code. */
export async function runBench(args: readonly string[]): Promise<number> {
  return await runInherited(process.execPath, ['bench/run.ts', ...args]);
}

/** Prints figures of the code's layout, by default of this checkout. */
export async function printCodeMetrics(args: readonly string[]): Promise<number> {
  return await runInherited(process.execPath, ['scripts/code-metrics.ts', ...args]);
}
