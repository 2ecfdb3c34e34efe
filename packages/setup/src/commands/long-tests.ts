import { parseArgs } from 'node:util';
import { createAnnouncer, formatElapsed } from '../announce.ts';
import { readEnvironment } from '../environment.ts';
import { inconclusiveExitCode } from '../outer-machine/run.ts';
import { prepare } from '../prepare.ts';
import { refuseUnfitHost } from '../requirements/problems.ts';
import { listTestFiles, namedTestFiles, testFilesOf } from '../suites/select.ts';
import { suites } from '../suites/suites.ts';
import { goChecks, prepareChecks, staticChecks, vitest } from './checks.ts';
import { type Check, type CheckOptions, runAlone } from './run-programs.ts';
import { textTable } from './text-table.ts';

const usage = `Usage: npm run test:long -- [SUITE]
Runs everything at full length: all of npm test, conformance and fuzz again on PostgreSQL, and the suites on KVM. This may take two hours.
  SUITE    only this one: a name of the table in CONTRIBUTING.md, or a file or folder in test/
`;

/** One part of a long run. */
export interface Part extends Check {
  /** Whether one exit code says that nothing was found out: the emulation of KVM failed, and no test. */
  readonly mayBeInconclusive?: boolean;
}

/** How a part ended. */
export interface PartResult {
  readonly title: string;
  readonly outcome: 'passed' | 'FAILED' | 'inconclusive' | 'not run';
  readonly elapsedMs: number;
}

/** Runs every part, also after one has failed, and prints a table of the results. Returns 1 if a part failed. */
export async function testLong(args: readonly string[], signal: AbortSignal): Promise<number> {
  const parsed = parse(args);
  if (parsed === undefined) return 2;
  const selected = parsed.suite === undefined ? undefined : namedTestFiles(parsed.suite, listTestFiles());
  if (selected?.length === 0) {
    process.stderr.write(`There is no suite "${parsed.suite}". Use one of:\n${suiteNames()}`);
    return 2;
  }
  await refuseUnfitHost();
  const announcer = createAnnouncer(process.stderr);
  const environment = readEnvironment(process.env);
  const tools = await prepareChecks(await prepare({ environment, purpose: 'tests', announcer, signal }));
  const parts = selected === undefined ? planAll(tools.go) : planSelected(selected);
  const results = await runParts(parts, tools, signal);
  process.stdout.write(formatResults(results));
  signal.throwIfAborted();
  return results.some(({ outcome }) => outcome === 'FAILED') ? 1 : 0;
}

/** The parsed arguments; undefined, with an explanation on standard error, if they are wrong. */
function parse(args: readonly string[]): { readonly suite: string | undefined } | undefined {
  try {
    const { positionals } = parseArgs({ args: [...args], options: {}, allowPositionals: true });
    if (positionals.length > 1) throw new Error('Give one suite.');
    return { suite: positionals[0] };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return undefined;
  }
}

/** The parts of a run of everything. `go` is the compiler. */
export function planAll(go: string): readonly Part[] {
  const onPostgres = { env: { MAYFLY_TEST_DATABASE: 'postgres' } };
  return [
    ...staticChecks,
    ...goChecks(go),
    vitest('unit tests', ['--project', 'unit*']),
    vitest('suites', ['--project', '!unit*']),
    { ...vitest('conformance on PostgreSQL', ['--project', '!unit*', 'test/conformance/']), ...onPostgres },
    { ...vitest('fuzz on PostgreSQL', ['--project', '!unit*', 'test/fuzz/']), ...onPostgres },
    { ...vitest('dashboard on PostgreSQL', ['--project', '!unit*', 'test/dashboard/']), ...onPostgres },
    onKvm([]),
  ].map(atFullLength);
}

/** The parts of a run of some test files of the suites. */
export function planSelected(files: readonly string[]): readonly Part[] {
  const kvmFiles = suites.filter(({ runs }) => runs === 'on KVM').flatMap((suite) => testFilesOf(suite, files));
  const others = files.filter((file) => !kvmFiles.includes(file));
  const title = others.length === 1 ? `${others[0]}` : `${others.length} test files`;
  return [
    ...(others.length > 0 ? [vitest(title, ['--project', '!unit*', ...others])] : []),
    ...(kvmFiles.length > 0 ? [onKvm(kvmFiles)] : []),
  ].map(atFullLength);
}

function onKvm(files: readonly string[]): Part {
  const args = ['bootstrap.mjs', 'test:kvm', ...files];
  return { title: 'suites on KVM', program: process.execPath, args, mayBeInconclusive: true };
}

function atFullLength(part: Part): Part {
  return { ...part, env: { ...part.env, MAYFLY_TEST_LONG: '1' } };
}

/** Runs parts one after the other. Those that were not started when the signal was aborted are not run. */
export async function runParts(
  parts: readonly Part[],
  options: CheckOptions,
  signal: AbortSignal,
): Promise<readonly PartResult[]> {
  const startedMs = performance.now();
  const results: PartResult[] = [];
  for (const [index, part] of parts.entries()) {
    const { title } = part;
    if (signal.aborted) {
      results.push({ title, outcome: 'not run', elapsedMs: 0 });
      continue;
    }
    const partStartedMs = performance.now();
    const progress = `${index + 1} of ${parts.length}, ${formatElapsed(partStartedMs - startedMs)} so far`;
    const code = await runAlone({ ...part, title: `${title} (${progress})` }, options);
    results.push({ title, outcome: outcomeOf(part, code), elapsedMs: performance.now() - partStartedMs });
  }
  return results;
}

function outcomeOf({ mayBeInconclusive = false }: Part, code: number): PartResult['outcome'] {
  if (code === 0) return 'passed';
  return mayBeInconclusive && code === inconclusiveExitCode ? 'inconclusive' : 'FAILED';
}

/** A table of part, result and minutes. */
export function formatResults(results: readonly PartResult[]): string {
  return textTable([
    ['part', 'result', 'minutes'],
    ...results.map(({ title, outcome, elapsedMs }) => [title, outcome, (elapsedMs / 60_000).toFixed(1)]),
  ]);
}

function suiteNames(): string {
  return suites.map(({ name }) => `  ${name}\n`).join('');
}
