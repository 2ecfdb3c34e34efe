import { globSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { projectRoot } from '../environment.ts';
import { isReached, type References, reachableFrom } from './references.ts';
import { type Suite, suites, testCode, withoutSuite } from './suites.ts';

/** What to run for a list of changed files. */
export interface Selection {
  /** Suites, each with the changed files that can break it. */
  readonly suites: readonly { readonly suite: Suite; readonly because: readonly string[] }[];
  /** Unit tests that use a changed file, or are the nearest to it. */
  readonly unitTests: readonly string[];
  /** Changed files that neither a suite nor another list of the table covers. */
  readonly uncovered: readonly string[];
}

/** Decides what changed files can break. `files` are all files of the repository now; `changed` may also contain deleted ones. */
export function selectTests(
  changed: readonly string[],
  files: readonly string[],
  references: References,
  table: readonly Suite[] = suites,
): Selection {
  return {
    ...selectSuites(changed, files, references, table),
    unitTests: selectUnitTests(changed, files, references),
  };
}

/** The part of the selection that follows from the table of suites. */
export function selectSuites(
  changed: readonly string[],
  files: readonly string[],
  references: References,
  table: readonly Suite[] = suites,
): Omit<Selection, 'unitTests'> {
  const chosen = table.map((suite) => {
    const reached = suiteReach(suite, files, references);
    return { suite, because: changed.filter((file) => canBreak(file, suite, reached)) };
  });
  const breaking = new Set(chosen.flatMap(({ because }) => because));
  const isCovered = (file: string) => breaking.has(file) || matchesAny(file, [...testCode, ...withoutSuite]);
  return {
    suites: chosen.filter(({ because }) => because.length > 0),
    uncovered: changed.filter((file) => !isCovered(file)),
  };
}

/** Everything in the repository's test folder, or in those of packages, that the files of a suite use. */
export function suiteReach(suite: Suite, files: readonly string[], references: References): ReadonlySet<string> {
  const isHelper = (file: string) => /^(?:test|packages\/[^/]+\/test)\//.test(file);
  const reached = testFilesOf(suite, files).flatMap((file) => [...reachableFrom(file, references, isHelper)]);
  return new Set(reached.filter(isHelper));
}

/** The test files of a suite. */
export function testFilesOf(suite: Suite, files: readonly string[]): readonly string[] {
  return files.filter((file) => matches(file, suite.files));
}

/** The test files of all suites. */
export function listTestFiles(): readonly string[] {
  const patterns = suites.map(({ files }) => files);
  return globSync(patterns, { cwd: projectRoot });
}

/** The test files that a suite's name, or the path of a file or folder in test/, stands for. */
export function namedTestFiles(given: string, files: readonly string[]): readonly string[] {
  const name = given
    .replace(/^(?:\.\/)?test\//, '')
    .replace(/\.test\.ts$/, '')
    .replace(/\/$/, '');
  const tests = suites.flatMap((suite) => testFilesOf(suite, files));
  return tests.filter((file) => file === `test/${name}.test.ts` || file.startsWith(`test/${name}/`));
}

/** Whether one of the table's patterns covers a file: a pattern, a file, or a folder with everything in it. */
export function matches(file: string, pattern: string): boolean {
  return /[*{]/.test(pattern) ? matchesGlob(file, pattern) : file === pattern || file.startsWith(`${pattern}/`);
}

/** Whether a file is a unit test. */
function isUnitTest(file: string): boolean {
  return matchesGlob(file, 'packages/*/{src,test}/**/*.test.ts');
}

function canBreak(file: string, suite: Suite, reached: ReadonlySet<string>): boolean {
  if (matches(file, suite.files) || isReached(file, reached)) return true;
  if (matchesAny(file, testCode)) return false;
  // Pages beside code describe it and break nothing.
  const sources = file.endsWith('.md') ? suite.sources.filter((pattern) => pattern.endsWith('.md')) : suite.sources;
  return matchesAny(file, sources);
}

function selectUnitTests(
  changed: readonly string[],
  files: readonly string[],
  references: References,
): readonly string[] {
  const tests = files.filter(isUnitTest);
  const nearest = new Set(changed.flatMap((file) => nearestTests(file, tests)));
  return tests.filter((test) => {
    if (nearest.has(test)) return true;
    const reached = reachableFrom(test, references);
    return changed.some((file) => isReached(file, reached));
  });
}

/** The unit tests in the folder of a file, or in the next one above it that has some: recorded inputs and outputs are below the test that reads them. */
function nearestTests(file: string, tests: readonly string[]): readonly string[] {
  const [top, name, ...folders] = file.split('/').slice(0, -1);
  if (top !== 'packages' || name === undefined) return [];
  for (let depth = folders.length; depth > 0; depth -= 1) {
    const folder = ['packages', name, ...folders.slice(0, depth)].join('/');
    const found = tests.filter((test) => test.startsWith(`${folder}/`) && !test.slice(folder.length + 1).includes('/'));
    if (found.length > 0) return found;
  }
  return [];
}

function matchesAny(file: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matches(file, pattern));
}
