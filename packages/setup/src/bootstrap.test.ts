import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { projectRoot } from './environment.ts';

let checkout: string;
beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'mayfly-bootstrap-'));
  for (const folder of ['.mayfly', 'bin', 'packages']) mkdirSync(join(checkout, folder));
  copyFileSync(join(projectRoot, 'bootstrap.mjs'), join(checkout, 'bootstrap.mjs'));
  writeFileSync(join(checkout, 'package.json'), '{}');
  writeFileSync(join(checkout, 'package-lock.json'), lockFile(listed));
});
afterEach(() => rmSync(checkout, { recursive: true }));

const listed = {
  'node_modules/pino': { version: '9.0.0', integrity: 'sha512-a' },
  'node_modules/for-another-platform': { version: '1.0.0', integrity: 'sha512-b', optional: true },
};
const expected = { 'node_modules/pino': listed['node_modules/pino'] };
const lockFile = (packages: object) => JSON.stringify({ lockfileVersion: 3, packages });

/** Runs the installation with an npm that claims to have installed these packages. */
function install(packages: object) {
  const node = `node_modules/node-linux-${process.arch}/bin`;
  const npm = `#!/bin/sh
echo "$@" > arguments
mkdir -p ${node} && touch ${node}/node
echo '${lockFile(packages)}' > node_modules/.package-lock.json
`;
  writeFileSync(join(checkout, 'bin', 'npm'), npm, { mode: 0o755 });
  const env = { PATH: `${join(checkout, 'bin')}:/usr/bin:/bin` };
  const { status, stderr } = spawnSync(process.execPath, ['bootstrap.mjs', 'install-under-lock'], {
    cwd: checkout,
    env,
    encoding: 'utf8',
  });
  return { status, stderr, isComplete: existsSync(join(checkout, 'node_modules', '.mayfly-install')) };
}

test('npm packages are installed without their scripts', () => {
  expect(install(expected)).toMatchObject({ status: 0, isComplete: true });
  const words = readFileSync(join(checkout, 'arguments'), 'utf8').trim().split(' ');
  expect(words).toEqual(expect.arrayContaining(['install', '--no-save', '--ignore-scripts']));
});

test.each([
  ['another version', { 'node_modules/pino': { version: '9.0.1', integrity: 'sha512-a' } }],
  ['other contents', { 'node_modules/pino': { version: '9.0.0', integrity: 'sha512-c' } }],
  ['a package that is not listed', { ...expected, 'node_modules/other': { version: '1.0.0', integrity: 'sha512-d' } }],
  [
    'an optional package that is not listed',
    { ...expected, 'node_modules/other': { version: '1.0.0', integrity: 'sha512-e', optional: true } },
  ],
  ['nothing', {}],
])('set-up stops if npm installed %s', (_what, packages) => {
  const { status, stderr, isComplete } = install(packages);
  expect([status, isComplete]).toEqual([1, false]);
  expect(stderr).toMatch(
    /The installed packages are not those that package-lock.json lists: node_modules\/(pino|other)\. Restore/,
  );
});

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly cpu?: readonly string[];
  readonly hasInstallScript?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const { packages: locked } = JSON.parse(readFileSync(join(projectRoot, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};

test('no package in the lock file needs an install script', () => {
  expect(Object.keys(locked).filter((path) => locked[path]?.hasInstallScript)).toEqual([]);
});

test.each(['arm64', 'x64'])('the lock file lists all programs for %s, whichever host it was written on', (arch) => {
  const wanted = Object.values(locked).flatMap(({ optionalDependencies = {} }) =>
    Object.entries(optionalDependencies).filter(([name]) => name.includes(`linux-${arch}`)),
  );
  const isListed = (name: string, version: string) =>
    Object.entries(locked).some(
      ([path, entry]) =>
        path.endsWith(`node_modules/${name}`) &&
        entry.version === version &&
        entry.integrity !== undefined &&
        entry.cpu?.includes(arch),
    );
  expect(wanted.length).toBeGreaterThan(5);
  expect(wanted.filter(([name, version]) => !isListed(name, version))).toEqual([]);
});
