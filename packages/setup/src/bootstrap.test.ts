import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
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
  return bootstrap();
}

function bootstrap() {
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

test("programs for this platform that npm leaves out, because they need a newer Node.js than the host has, are installed with the project's own", () => {
  const program = { version: '2.0.0', integrity: 'sha512-f', optional: true, cpu: [process.arch], os: ['linux'] };
  const others = {
    'node_modules/for-musl': { ...program, libc: ['musl'] },
    'node_modules/for-another': { ...program, cpu: ['s390x'] },
  };
  writeFileSync(
    join(checkout, 'package-lock.json'),
    lockFile({ ...listed, ...others, 'node_modules/program': program }),
  );
  // The npm of the host, which installs the program only if it is run a second time.
  const node = `node_modules/node-linux-${process.arch}/bin`;
  const script = `#!/usr/bin/env node
const { appendFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } = require('node:fs');
const isFirst = !existsSync('${node}/node');
appendFileSync('runs', process.argv.slice(2).join(' ') + '\\n');
mkdirSync('${node}', { recursive: true });
if (isFirst) symlinkSync(process.execPath, '${node}/node');
const packages = isFirst ? ${JSON.stringify(expected)} : ${JSON.stringify({ ...expected, 'node_modules/program': program })};
writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages }));
`;
  writeFileSync(join(checkout, 'npm-cli.js'), script, { mode: 0o755 });
  symlinkSync(join(checkout, 'npm-cli.js'), join(checkout, 'bin', 'npm'));
  symlinkSync(process.execPath, join(checkout, 'bin', 'node'));
  expect(bootstrap()).toMatchObject({ status: 0, isComplete: true });
  const runs = readFileSync(join(checkout, 'runs'), 'utf8').trim().split('\n');
  expect(runs).toHaveLength(2);
  expect(runs[1]).toBe(runs[0]);
});

test('set-up stops if a program for this platform is missing', () => {
  const program = { version: '2.0.0', integrity: 'sha512-f', optional: true, cpu: process.arch, os: 'linux' };
  writeFileSync(join(checkout, 'package-lock.json'), lockFile({ ...listed, 'node_modules/program': program }));
  const { status, stderr } = install(expected);
  expect([status, stderr]).toEqual([
    1,
    expect.stringContaining('were not installed: node_modules/program. Check the network'),
  ]);
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
