import { join } from 'node:path';
import { createAnnouncer } from '../announce.ts';
import { projectRoot } from '../environment.ts';
import type { Prepared } from '../prepare.ts';
import {
  agentProgram,
  ensureGoToolchain,
  findHostToolchain,
  type GoToolchain,
  jailProgram,
  minimumGoVersion,
  netProgram,
  ramProgram,
} from '../steps/go.ts';
import { type Check, localProgram, runAlone, runInherited, runSideBySide } from './run-programs.ts';

/** Longest first, so that none is left to run alone at the end. */
const staticChecks: readonly Check[] = [
  { title: 'lint with types', program: localProgram('oxlint'), args: ['--type-aware'] },
  { title: 'types', program: localProgram('tsc'), args: ['-p', '.'] },
  { title: 'import directions', program: localProgram('depcruise'), args: ['packages'] },
  { title: 'unused code', program: localProgram('knip'), args: [] },
  { title: 'lint and format', program: localProgram('biome'), args: ['check', '.'] },
];

/** Fewer fuzzed inputs than in `npm test`, where they take more than a minute. */
const shortFuzzing = { MAYFLY_FUZZ_HOST_MESSAGES: '10000', MAYFLY_FUZZ_RUNS: '100' };

/**
 * Runs all static checks and then, if they pass, all tests. With arguments, runs only vitest with these arguments. Returns the exit code.
 */
export async function runTests({ context, plan }: Prepared, args: readonly string[]): Promise<number> {
  const { announcer } = context;
  const go = await ensureGoToolchain(context, plan.go);
  const env = checkEnvironment(go);
  if (args.length === 0) {
    const failed = await runSideBySide([...staticChecks, ...goChecks(go)], { announcer, env });
    if (failed.length > 0) {
      announcer.line(`Failed: ${failed.join(', ')}. The tests were not run.`);
      return 1;
    }
  }
  return await runAlone(vitest('tests', args), { announcer, env });
}

/**
 * Runs what needs neither root nor set-up: the static checks, those of the Go programs if the host has a Go compiler, and the unit tests.
 * With arguments, runs only the unit tests, with these arguments of vitest. Returns the exit code.
 */
export async function runQuickCheck(args: readonly string[]): Promise<number> {
  const announcer = createAnnouncer(process.stderr);
  const go = await findHostToolchain();
  const env = { ...shortFuzzing, ...checkEnvironment(go) };
  const failed: string[] = [];
  if (args.length === 0) {
    if (!go) announcer.line(`  Go checks: skipped, because there is no Go ${minimumGoVersion} or newer on the PATH`);
    failed.push(...(await runSideBySide([...staticChecks, ...(go ? goChecks(go) : [])], { announcer, env })));
  }
  // The default loader writes into node_modules, which may belong to root.
  const unitTests = vitest('unit tests', ['--configLoader', 'runner', '--project', 'unit', ...args]);
  if ((await runAlone(unitTests, { announcer, env })) !== 0) failed.push(unitTests.title);
  if (failed.length > 0) announcer.line(`Failed: ${failed.join(', ')}.`);
  return failed.length === 0 ? 0 : 1;
}

function vitest(title: string, args: readonly string[]): Check {
  return { title, program: localProgram('vitest'), args: ['run', ...args] };
}

function goChecks({ command }: GoToolchain): readonly Check[] {
  return [agentProgram, jailProgram, netProgram, ramProgram].flatMap(({ title, folder: cwd }) => [
    { title: `${title}: vet`, program: command, args: ['vet', './...'], cwd },
    { title: `${title}: tests`, program: command, args: ['test', './...'], cwd },
  ]);
}

function checkEnvironment(go: GoToolchain | undefined): NodeJS.ProcessEnv {
  return {
    ...process.env,
    ...go?.env,
    // As the programs are built: with cgo, which Go uses where it finds a C compiler, some system calls behave differently.
    CGO_ENABLED: '0',
    PATH: `${join(projectRoot, 'node_modules/.bin')}:${process.env.PATH}`,
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
