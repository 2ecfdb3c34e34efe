import { expect, test } from 'vitest';
import { type FoundTool, findVersion, isAtLeast, missingTools, requiredTools } from './requirements.ts';

function everything(qemuVersion: string | undefined): Map<string, FoundTool> {
  return new Map(
    requiredTools('arm64', 'service').map(({ name }) => [name, { path: `/usr/bin/${name}`, version: qemuVersion }]),
  );
}

test.each([
  ['10.0.2', '8.2', true],
  ['8.2', '8.2', true],
  ['8.2.1', '8.2', true],
  ['7.2.9', '8.2', false],
  ['8.10', '8.2', true],
  ['8', '8.2', false],
])('%s at least %s: %s', (version, minimum, expected) => {
  expect(isAtLeast(version, minimum)).toBe(expected);
});

test('versions are found in what the commands print', () => {
  expect(findVersion('QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)')).toBe('10.0.2');
  expect(findVersion('go version go1.24.4 linux/arm64')).toBe('1.24.4');
  expect(findVersion('no version')).toBeUndefined();
});

test('a machine with everything in good versions misses nothing', () => {
  expect(missingTools(requiredTools('arm64', 'service'), everything('8.2.2'))).toEqual([]);
});

test('QEMU that is too old or says no version counts as missing', () => {
  const names = (version: string | undefined) =>
    missingTools(requiredTools('arm64', 'service'), everything(version)).map(({ debianPackage }) => debianPackage);
  expect(names('7.2.19')).toEqual(['qemu-system-arm', 'qemu-utils']);
  expect(names(undefined)).toEqual(['qemu-system-arm', 'qemu-utils']);
});

test('an x64 machine needs its own QEMU', () => {
  expect(missingTools(requiredTools('x64', 'service'), new Map())[0]?.debianPackage).toBe('qemu-system-x86');
});

test('only the tests need a database server and a browser', () => {
  const names = (purpose: 'service' | 'tests') => requiredTools('arm64', purpose).map(({ name }) => name);
  expect(names('service')).not.toContain('postgres');
  expect(names('tests')).toEqual([
    ...names('service'),
    'postgres',
    'chromium',
    'certutil',
    'curl',
    'jq',
    'python3',
    'zsh',
    'fish',
  ]);
});
