import { describe, expect, it, vi } from 'vitest';
import { createAnnouncer } from '../announce.ts';
import { staticChecks } from './checks.ts';
import { formatResults, type Part, planAll, planSelected, runParts, testLong } from './long-tests.ts';

describe('a plan', () => {
  it('of everything has all checks of npm test, then PostgreSQL, then KVM, each at full length', () => {
    const parts = planAll('/go');
    expect(parts.map(({ title }) => title)).toEqual([
      ...staticChecks.map(({ title }) => title),
      ...['guest agent', 'jail', 'name resolver', 'memory layers', 'filters of system calls'].flatMap((name) => [
        `${name}: vet`,
        `${name}: tests`,
      ]),
      'unit tests',
      'suites',
      'conformance on PostgreSQL',
      'fuzz on PostgreSQL',
      'dashboard on PostgreSQL',
      'suites on KVM',
    ]);
    expect(parts.filter(({ env }) => env?.MAYFLY_TEST_LONG !== '1')).toEqual([]);
    const onPostgres = parts.filter(({ env }) => env?.MAYFLY_TEST_DATABASE === 'postgres');
    expect(onPostgres.map(({ args }) => args.at(-1))).toEqual(['test/conformance/', 'test/fuzz/', 'test/dashboard/']);
    expect(parts.at(-1)).toMatchObject({ args: ['bootstrap.mjs', 'test:kvm'], mayBeInconclusive: true });
  });

  it('of one suite has only its files, on KVM if it needs it', () => {
    expect(planSelected(['test/snapshots/kills.test.ts'])).toEqual([
      expect.objectContaining({
        title: 'test/snapshots/kills.test.ts',
        args: ['run', '--project', '!unit*', 'test/snapshots/kills.test.ts'],
        env: { MAYFLY_TEST_LONG: '1' },
      }),
    ]);
    expect(planSelected(['test/kvm/machine.test.ts']).map(({ args }) => args)).toEqual([
      ['bootstrap.mjs', 'test:kvm', 'test/kvm/machine.test.ts'],
    ]);
  });
});

describe('a run', () => {
  const part = (title: string, code: number, others: Partial<Part> = {}): Part => ({
    title,
    program: process.execPath,
    args: ['-e', `process.exit(${code})`],
    ...others,
  });
  let printed: string;
  const collect = (text: string) => {
    printed += text;
  };
  const run = (parts: readonly Part[], signal = new AbortController().signal) => {
    printed = '';
    const announcer = createAnnouncer({ write: collect });
    return runParts(parts, { announcer, env: process.env }, signal);
  };

  it('goes on after a failure, and an inconclusive part is none', async () => {
    const kvm = { mayBeInconclusive: true };
    const results = await run([part('a', 3), part('b', 0), part('c', 75), part('d', 75, kvm), part('e', 1, kvm)]);
    expect(results.map(({ outcome }) => outcome)).toEqual(['FAILED', 'passed', 'FAILED', 'inconclusive', 'FAILED']);
    expect(printed).toMatch(/▸ b \(2 of 5, [\d.]+ s so far\)/);
  });

  it('gives each part its own variables', async () => {
    const args = ['-e', "process.exit(process.env.MAYFLY_TEST_EXAMPLE === '1' ? 0 : 1)"];
    const results = await run([part('a', 0, { args, env: { MAYFLY_TEST_EXAMPLE: '1' } }), part('b', 0, { args })]);
    expect(results.map(({ outcome }) => outcome)).toEqual(['passed', 'FAILED']);
  });

  it('starts nothing more once it is interrupted', async () => {
    const results = await run([part('a', 0)], AbortSignal.abort());
    expect(results).toEqual([{ title: 'a', outcome: 'not run', elapsedMs: 0 }]);
  });
});

it('the results are a table', () => {
  const table = formatResults([
    { title: 'unit tests', outcome: 'passed', elapsedMs: 90_000 },
    { title: 'suites', outcome: 'FAILED', elapsedMs: 3_660_000 },
  ]);
  expect(table).toBe(
    ['part        result  minutes', 'unit tests  passed      1.5', 'suites      FAILED     61.0', ''].join('\n'),
  );
});

it.each([
  ['an unknown option', ['--bogus'], 'Usage: npm run test:long'],
  ['two suites', ['a', 'b'], 'Give one suite.'],
  ['an unknown suite', ['nothing'], 'There is no suite "nothing". Use one of:\n  adoption/either-side\n'],
])('refuses %s', async (_, args, message) => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    expect(await testLong(args, new AbortController().signal)).toBe(2);
    expect(write.mock.calls.map(([text]) => String(text)).join('')).toContain(message);
  } finally {
    write.mockRestore();
  }
});
