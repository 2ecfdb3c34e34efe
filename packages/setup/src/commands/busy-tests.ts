import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { createAnnouncer } from '../announce.ts';
import { projectRoot, readEnvironment } from '../environment.ts';
import { prepare } from '../prepare.ts';
import { refuseUnfitHost } from '../requirements/problems.ts';
import { listTestFiles, namedTestFiles, testFilesOf } from '../suites/select.ts';
import { suites } from '../suites/suites.ts';
import { prepareChecks, vitest } from './checks.ts';
import { type CheckOptions, runAlone } from './run-programs.ts';
import { textTable } from './text-table.ts';

const usage = `Usage: npm run test:busy -- [--rounds N] [SUITE ...]
Runs the suites that measure time or work under load ten times while a core is kept busy: no test may fail because a host is slow.
  --rounds N    how often
  SUITE         only these: names of the table in CONTRIBUTING.md, or files or folders in test/
`;

/** How one test file ended in one round. */
export interface FileResult {
  readonly file: string;
  readonly round: number;
  readonly seconds: number;
  /** The names of failed tests, or what else was wrong; empty if the file passed. */
  readonly failures: readonly string[];
}

/** Runs every round, also after one has failed, and prints a table of the results. Returns 1 if a test failed. */
export async function testBusy(args: readonly string[], signal: AbortSignal): Promise<number> {
  const parsed = parse(args);
  if (parsed === undefined) return 2;
  const all = listTestFiles();
  const timed = suites.filter((suite) => suite.timed).flatMap((suite) => testFilesOf(suite, all));
  const files =
    parsed.names.length === 0 ? timed : [...new Set(parsed.names.flatMap((name) => namedTestFiles(name, all)))];
  const unknown = parsed.names.filter((name) => namedTestFiles(name, all).length === 0);
  if (unknown.length > 0) {
    process.stderr.write(`There is no suite "${unknown[0]}". CONTRIBUTING.md has a table of all suites.\n`);
    return 2;
  }
  await refuseUnfitHost();
  const announcer = createAnnouncer(process.stderr);
  const environment = readEnvironment(process.env);
  const tools = await prepareChecks(await prepare({ environment, purpose: 'tests', announcer, signal }));
  using _busy = keepCoreBusy();
  const results: FileResult[] = [];
  for (let round = 1; round <= parsed.rounds && !signal.aborted; round += 1) {
    results.push(...(await runRound({ round, rounds: parsed.rounds, files }, tools)));
    process.stdout.write(formatRounds(results));
  }
  signal.throwIfAborted();
  return results.some(({ failures }) => failures.length > 0) ? 1 : 0;
}

/** The parsed arguments; undefined, with an explanation on standard error, if they are wrong. */
function parse(args: readonly string[]): { readonly rounds: number; readonly names: readonly string[] } | undefined {
  try {
    const options = { rounds: { type: 'string', default: '10' } } as const;
    const { positionals, values } = parseArgs({ args: [...args], options, allowPositionals: true });
    const rounds = Number(values.rounds);
    if (!Number.isInteger(rounds) || rounds < 1) throw new Error('Give --rounds a whole number from 1.');
    return { rounds, names: positionals };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return undefined;
  }
}

/** A process that computes all the time, until it is disposed or this process is gone. */
function keepCoreBusy(): Disposable {
  const loop = `while (process.ppid === ${process.pid}) for (let turn = 0; turn < 1e8; turn++);`;
  const child = spawn(process.execPath, ['-e', loop], { stdio: 'ignore' });
  return { [Symbol.dispose]: () => void child.kill('SIGKILL') };
}

interface Round {
  readonly round: number;
  readonly rounds: number;
  readonly files: readonly string[];
}

async function runRound({ round, rounds, files }: Round, options: CheckOptions): Promise<readonly FileResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-busy-'));
  try {
    const reportPath = join(folder, 'report.json');
    const tests = vitest(`round ${round} of ${rounds}`, ['--project', '!unit*', ...files]);
    await runAlone({ ...tests, env: { MAYFLY_TEST_REPORT: reportPath } }, options);
    return readReport(await readFile(reportPath, 'utf8').catch(() => '{"testResults":[]}'), files, round);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What is used of vitest's JSON report. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** The results in vitest's JSON report. A file that is not in it did not end. */
export function readReport(report: string, files: readonly string[], round: number): readonly FileResult[] {
  const { testResults } = JSON.parse(report) as Report;
  return files.map((file) => {
    const result = testResults.find(({ name }) => relative(projectRoot, name) === file);
    if (!result) return { file, round, seconds: 0, failures: ['it did not end'] };
    const failed = result.assertionResults.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName);
    const failures = failed.length === 0 && result.status !== 'passed' ? ['the file itself'] : failed;
    return { file, round, seconds: (result.endTime - result.startTime) / 1_000, failures };
  });
}

/** A table of file, rounds passed and failed, and seconds, and every failure with its round. */
export function formatRounds(results: readonly FileResult[]): string {
  const rows = [...Map.groupBy(results, ({ file }) => file)].map(([file, own]) => {
    const seconds = own.map((result) => result.seconds);
    const failed = own.filter(({ failures }) => failures.length > 0).length;
    const range = [Math.min(...seconds), Math.max(...seconds)].map((value) => value.toFixed(1));
    return [file, String(own.length - failed), String(failed), ...range];
  });
  const failures = results.flatMap(({ file, round, failures: names }) =>
    names.map((name) => `failed in round ${round}: ${file}: ${name}\n`),
  );
  return [textTable([['file', 'passed', 'failed', 'least s', 'most s'], ...rows]), ...failures].join('');
}
