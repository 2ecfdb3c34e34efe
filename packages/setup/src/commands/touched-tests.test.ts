import { expect, it, vi } from 'vitest';
import { type Suite, suites } from '../suites/suites.ts';
import { staticChecks } from './checks.ts';
import { describeSelection, planTouched, testTouched } from './touched-tests.ts';

function suiteNamed(name: string): Suite {
  const suite = suites.find((row) => row.name === name);
  if (suite === undefined) throw new Error(`There is no suite ${name}.`);
  return suite;
}

const changes = {
  since: 'HEAD~1 (0123456789)',
  files: ['guest/agent/main.go', 'native/net/README.md', 'packages/server/src/store/schema.ts'],
};
const files = ['test/conformance/limits/api-keys.test.ts', 'test/conformance/limits/rate-limits.test.ts'];
const selection = {
  suites: [
    { suite: suiteNamed('conformance/limits'), because: ['packages/server/src/store/schema.ts'] },
    { suite: suiteNamed('kvm/service'), because: ['guest/agent/main.go'] },
  ],
  unitTests: ['packages/server/src/store/sqlite/sqlite.test.ts'],
  uncovered: [],
};

it('runs static checks, the changed Go modules, then unit tests, then suites, but none on KVM', () => {
  const { checks, tests } = planTouched(changes, selection, files, '/go');
  expect(checks.map(({ title }) => title)).toEqual([
    ...staticChecks.map(({ title }) => title),
    'guest agent: vet',
    'guest agent: tests',
  ]);
  expect(tests.map(({ title, args }) => [title, ...args])).toEqual([
    ['unit tests', 'run', '--project', 'unit*', '--project', 'root', ...selection.unitTests],
    ['suites', 'run', '--project', '!unit*', ...files],
  ]);
});

it('checks the Go modules that use a changed one, too', () => {
  const { checks } = planTouched({ ...changes, files: ['native/seccomp/calls.go'] }, selection, files, '/go');
  const tested = checks.map(({ title }) => title).filter((title) => title.endsWith(': tests'));
  expect(tested).toEqual(['jail: tests', 'name resolver: tests', 'filters of system calls: tests']);
});

it('leaves out vitest where nothing is selected, instead of running everything', () => {
  expect(planTouched(changes, { suites: [], unitTests: [], uncovered: [] }, files, '/go').tests).toEqual([]);
});

it('says what it chose and because of which files', () => {
  const printed = describeSelection(changes, { ...selection, uncovered: ['native/new/main.go'] });
  expect(printed).toContain('Files changed since HEAD~1 (0123456789): 3\n');
  expect(printed).toContain('conformance/limits  packages/server/src/store/schema.ts\n');
  expect(printed).toContain('npm run test:kvm');
  expect(printed).toContain('Files of unit tests: 1\nGo modules: guest agent\n');
  expect(printed).toContain('No suite covers native/new/main.go.');
});

it.each([
  ['an unknown option', ['--bogus'], '--bogus'],
  ['two commits', ['HEAD', 'HEAD~1'], 'Give one commit.'],
])('refuses %s and shows the usage', async (_, args, message) => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    expect(await testTouched(args, new AbortController().signal)).toBe(2);
    const printed = write.mock.calls.map(([text]) => String(text)).join('');
    expect(printed).toContain(message);
    expect(printed).toContain('Usage: npm run test:touched');
  } finally {
    write.mockRestore();
  }
});
