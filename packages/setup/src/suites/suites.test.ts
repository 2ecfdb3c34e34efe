import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { projectRoot } from '../environment.ts';
import { listRepository } from './changes.ts';
import { readReferences } from './references.ts';
import { matches, selectSuites, suiteReach, testFilesOf } from './select.ts';
import { suites, testCode, withoutSuite } from './suites.ts';

const references = readReferences(projectRoot);
let files: readonly string[];
beforeEach(async ({ skip }) => {
  if (!existsSync(join(projectRoot, '.git'))) skip('not a git checkout');
  files = await listRepository(projectRoot);
});

it('every file of the repository is covered by a row, or is named as one that needs no suite', () => {
  expect(selectSuites(files, files, references).uncovered).toEqual([]);
});

it('a file that no row covers is named', () => {
  const withoutStoreRows = suites.filter(({ sources }) => !sources.some((path) => path.endsWith('/store')));
  const { uncovered } = selectSuites(files, files, references, withoutStoreRows);
  expect(uncovered).toContain('packages/server/src/store/sql/sql-store.ts');
});

it('every test file in test/ belongs to exactly one suite', () => {
  const tests = files.filter((file) => /^test\/.*\.test\.ts$/.test(file));
  const owners = tests.map((file) => [file, suites.filter((suite) => matches(file, suite.files)).length] as const);
  expect(owners.filter(([, count]) => count !== 1)).toEqual([]);
});

it('every pattern matches a file', () => {
  const patterns = new Set([
    ...suites.flatMap((suite) => [suite.files, ...suite.sources]),
    ...testCode,
    ...withoutSuite,
  ]);
  expect([...patterns].filter((pattern) => !files.some((file) => matches(file, pattern)))).toEqual([]);
});

it('names are unique, and each says where its files are', () => {
  expect(new Set(suites.map(({ name }) => name)).size).toBe(suites.length);
  const misnamed = suites.filter((suite) =>
    testFilesOf(suite, files).some((file) => !file.startsWith(`test/${suite.name}`)),
  );
  expect(misnamed).toEqual([]);
});

it('a suite has a long form if its files or their helpers read MAYFLY_TEST_LONG', ({ skip }) => {
  if (!existsSync(join(projectRoot, 'test/support/length.ts'))) skip('no suite uses test/support/length.ts yet');
  const isLong = (file: string) =>
    file.endsWith('.ts') && readFileSync(join(projectRoot, file), 'utf8').includes('MAYFLY_TEST_LONG');
  const reading = suites.filter((suite) => [...suiteReach(suite, files, references)].some(isLong));
  expect(suites.filter(({ long }) => long !== undefined).map(({ name }) => name)).toEqual(
    reading.map(({ name }) => name),
  );
});
