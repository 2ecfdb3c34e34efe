import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isReached, type References, reachableFrom, readReferences } from './references.ts';
import { matches, namedTestFiles, selectTests } from './select.ts';
import type { Suite } from './suites.ts';

/** A small repository with the layout of this one. */
const contents: Readonly<Record<string, string>> = {
  'package.json':
    '{ "imports": { "#server/*": "./packages/server/src/*", "#server-test/*": "./packages/server/test/*" } }',
  'packages/cli/package.json': '{ "name": "@mayfly/cli" }',
  'packages/contract/package.json': '{ "name": "@mayfly/contract", "exports": { ".": "./src/index.ts" } }',
  'packages/contract/src/index.ts': '',
  'packages/server/package.json': '{ "name": "@mayfly/server", "exports": { "./app": "./src/app/index.ts" } }',
  'packages/server/src/app/index.ts': "import '@mayfly/contract';",
  'packages/server/src/store/ledger.ts': '',
  'packages/server/src/store/ledger.test.ts': "import './ledger.ts';",
  'packages/server/src/gateway/gateway.ts': "import '../store/ledger.ts';",
  'packages/server/src/gateway/gateway.test.ts':
    "import './gateway.ts'; new URL('../../test/worker.ts', import.meta.url);",
  'packages/server/src/gateway/golden/request.txt': '',
  'packages/server/test/worker.ts': "import '@mayfly/server/app';",
  'packages/server/test/jail/jail.test.ts': "join(import.meta.dirname, '../../../../native/jail');",
  'packages/setup/package.json': '{ "name": "@mayfly/setup" }',
  'native/jail/main.go': '',
  'native/jail/README.md': '',
  'test/previews/visits.test.ts': "import '../support/visit.ts';",
  'test/support/visit.ts': "import '#server/store/ledger.ts'; import '#server-test/worker.ts';",
  'test/money/billing.test.ts': '',
  'test/documentation/references.test.ts': '',
};
const files = Object.keys(contents);
const suite = (name: string, ...sources: string[]): Suite => ({
  name,
  files: `test/${name}.test.ts`,
  shows: '',
  sources,
});
const table = [
  suite('previews/visits', 'packages/server/src/gateway', 'native/jail'),
  suite('money/billing', 'packages/server/src/store', 'packages/contract/**'),
  suite('documentation/references', '**/*.md', 'docs'),
];

let root: string;
let references: References;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'mayfly-suites-'));
  for (const [file, text] of Object.entries(contents)) {
    mkdirSync(join(root, dirname(file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  references = readReferences(root);
});
afterAll(() => rmSync(root, { recursive: true }));

const select = (...changed: string[]) => {
  const { suites, ...others } = selectTests(changed, files, references, table);
  return { suites: suites.map((chosen) => chosen.suite.name), ...others };
};

describe('changed files select', () => {
  it('the suites whose sources contain them, and the unit tests that use them directly or not', () => {
    expect(select('packages/server/src/store/ledger.ts')).toEqual({
      suites: ['money/billing'],
      unitTests: ['packages/server/src/store/ledger.test.ts', 'packages/server/src/gateway/gateway.test.ts'],
      uncovered: [],
    });
  });

  it('the suites that use them as helpers, also through other helpers', () => {
    expect(select('test/support/visit.ts')).toMatchObject({ suites: ['previews/visits'], unitTests: [] });
    expect(select('packages/server/test/worker.ts')).toMatchObject({
      suites: ['previews/visits'],
      unitTests: ['packages/server/src/gateway/gateway.test.ts'],
    });
  });

  it('a suite that was changed itself', () => {
    expect(select('test/money/billing.test.ts')).toMatchObject({ suites: ['money/billing'], uncovered: [] });
  });

  it('no suite if they are unit tests', () => {
    const changed = 'packages/server/src/gateway/gateway.test.ts';
    expect(select(changed)).toEqual({ suites: [], unitTests: [changed], uncovered: [] });
  });

  it('the nearest unit tests if they are recorded inputs or outputs', () => {
    const unitTests = ['packages/server/src/gateway/gateway.test.ts'];
    const changed = 'packages/server/src/gateway/golden/request.txt';
    expect(select(changed)).toEqual({ suites: [], unitTests, uncovered: [] });
  });

  it('the unit tests that read their folder', () => {
    expect(select('native/jail/main.go')).toMatchObject({
      suites: ['previews/visits'],
      unitTests: ['packages/server/test/jail/jail.test.ts'],
    });
  });

  it('only the suite of the documentation if they are pages', () => {
    expect(select('native/jail/README.md', 'docs/new.md')).toMatchObject({ suites: ['documentation/references'] });
  });

  it('the same when they were deleted', () => {
    expect(select('packages/server/src/store/gone.ts').suites).toEqual(['money/billing']);
  });

  it('nothing if no row contains them, and are named', () => {
    expect(select('native/new/main.go', 'LICENSE')).toEqual({
      suites: [],
      unitTests: [],
      uncovered: ['native/new/main.go'],
    });
  });
});

it('each chosen suite comes with the files because of which it was chosen', () => {
  const changed = ['native/jail/main.go', 'packages/server/src/store/ledger.ts', 'test/support/visit.ts'];
  expect(
    selectTests(changed, files, references, table).suites.map(({ suite: { name }, because }) => [name, because]),
  ).toEqual([
    ['previews/visits', ['native/jail/main.go', 'test/support/visit.ts']],
    ['money/billing', ['packages/server/src/store/ledger.ts']],
  ]);
});

it('references lead through the exports of packages', () => {
  const reached = reachableFrom('packages/server/src/gateway/gateway.test.ts', references);
  expect(isReached('packages/contract/src/index.ts', reached)).toBe(true);
});

it.each([
  ['guest/image/skeleton/home/.profile', 'guest/image', true],
  ['guest/images', 'guest/image', false],
  ['package.json', 'package.json', true],
  ['packages/cli/package.json', 'packages/*/package.json', true],
  ['packages/server/src/machines/qemu/qmp/client.ts', 'packages/server/src/machines/qemu/*.ts', false],
])('%s and the pattern %s', (file, pattern, isMatch) => {
  expect(matches(file, pattern)).toBe(isMatch);
});

it.each([
  ['snapshots/kills', ['test/snapshots/kills.test.ts']],
  ['test/snapshots/kills.test.ts', ['test/snapshots/kills.test.ts']],
  ['conformance/files', ['test/conformance/files/read.test.ts', 'test/conformance/files/write.test.ts']],
  ['test/conformance/', ['test/conformance/files/read.test.ts', 'test/conformance/files/write.test.ts']],
  ['./test/kvm', ['test/kvm/machine.test.ts']],
  ['kills', []],
  ['packages/setup', []],
])('the name %s stands for %j', (given, expected) => {
  const tests = [
    'test/conformance/files/read.test.ts',
    'test/conformance/files/write.test.ts',
    'test/kvm/machine.test.ts',
    'test/machines/driver.test.ts',
    'test/snapshots/kills.test.ts',
    'test/snapshots/kills-more.test.ts',
  ];
  expect(namedTestFiles(given, tests)).toEqual(expected);
});
