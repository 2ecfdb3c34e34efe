import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { projectRoot } from '../environment.ts';
import { type FileResult, formatRounds, readReport, testBusy } from './busy-tests.ts';

const file = (name: string, status: string, tests: Readonly<Record<string, string>>) => ({
  name: join(projectRoot, name),
  status,
  startTime: 1_000,
  endTime: 3_500,
  assertionResults: Object.entries(tests).map(([fullName, outcome]) => ({ fullName, status: outcome })),
});

it('a round names the failed tests of each file, files that failed themselves, and files that did not end', () => {
  const report = JSON.stringify({
    testResults: [
      file('test/a.test.ts', 'passed', { first: 'passed', second: 'skipped' }),
      file('test/b.test.ts', 'failed', { first: 'passed', second: 'failed' }),
      file('test/c.test.ts', 'failed', {}),
    ],
  });
  const files = ['a', 'b', 'c', 'd'].map((name) => `test/${name}.test.ts`);
  expect(readReport(report, files, 3)).toEqual([
    { file: 'test/a.test.ts', round: 3, seconds: 2.5, failures: [] },
    { file: 'test/b.test.ts', round: 3, seconds: 2.5, failures: ['second'] },
    { file: 'test/c.test.ts', round: 3, seconds: 2.5, failures: ['the file itself'] },
    { file: 'test/d.test.ts', round: 3, seconds: 0, failures: ['it did not end'] },
  ]);
});

it('the rounds are a table, with every failure below it', () => {
  const result = (name: string, round: number, seconds: number, ...failures: string[]): FileResult => ({
    file: name,
    round,
    seconds,
    failures,
  });
  expect(
    formatRounds([result('a', 1, 9.5), result('long', 1, 2), result('a', 2, 10, 'no leak'), result('long', 2, 3)]),
  ).toBe(
    [
      'file  passed  failed  least s  most s',
      'a          1       1      9.5    10.0',
      'long       2       0      2.0     3.0',
      'failed in round 2: a: no leak',
      '',
    ].join('\n'),
  );
});

it.each([
  ['an unknown option', ['--bogus'], 'Usage: npm run test:busy'],
  ['no rounds', ['--rounds', '0'], 'Give --rounds a whole number from 1.'],
  ['an unknown suite', ['hostile', 'nothing'], 'There is no suite "nothing".'],
])('refuses %s', async (_, args, message) => {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    expect(await testBusy(args, new AbortController().signal)).toBe(2);
    expect(written.mock.calls.join('')).toContain(message);
  } finally {
    written.mockRestore();
  }
});
