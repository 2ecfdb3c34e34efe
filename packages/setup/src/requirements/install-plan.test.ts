import { expect, test } from 'vitest';
import { hostFacts } from '../../test/host-facts.ts';
import { aptInstallCalls, bringsServer, findSignedBy, formatSources, planInstall } from './install-plan.ts';

test('nothing is installed on a host that has everything, even a Debian 12 with a newer QEMU from elsewhere', () => {
  expect(planInstall(hostFacts(), 'tests')).toBeUndefined();
});

test('only what is missing is installed', () => {
  const facts = hostFacts({ without: ['mke2fs', 'nft'] });
  const plan = planInstall(facts, 'service');
  expect(plan && aptInstallCalls(plan)).toEqual([
    ['install', '--yes', '--no-install-recommends', 'e2fsprogs', 'nftables'],
  ]);
});

test('Debian 12 gets QEMU from backports, and the suite is added from its own mirror', () => {
  const plan = planInstall(hostFacts({ qemuVersion: '7.2.19' }), 'service');
  expect(plan?.archiveToAdd).toEqual({ uri: 'http://mirror.test/debian', suite: 'bookworm-backports' });
  expect(plan && aptInstallCalls(plan)).toEqual([
    ['install', '--yes', '--no-install-recommends', '-t', 'bookworm-backports', 'qemu-system-arm', 'qemu-utils'],
  ]);
});

test('a backports suite that is already configured is not added again', () => {
  const archives = [
    { uri: 'http://mirror.test/debian', suite: 'bookworm' },
    { uri: 'http://mirror.test/debian', suite: 'bookworm-backports' },
  ];
  const plan = planInstall(hostFacts({ without: ['qemu-img'], archives }), 'service');
  expect(plan?.archiveToAdd).toBeUndefined();
  expect(plan?.backportsPackages).toEqual(['qemu-utils']);
});

test('newer releases get QEMU from their own suite', () => {
  const facts = hostFacts({
    without: ['qemu-img'],
    distribution: { id: 'debian', codename: 'trixie', name: 'Debian 13' },
  });
  expect(planInstall(facts, 'service')).toMatchObject({
    packages: ['qemu-utils'],
    backportsPackages: [],
    archiveToAdd: undefined,
  });
});

test('a database server is installed only for the tests, and recognised as starting a server', () => {
  const facts = hostFacts({ without: ['postgres'] });
  expect(planInstall(facts, 'service')).toBeUndefined();
  const plan = planInstall(facts, 'tests');
  const calls = plan ? aptInstallCalls(plan) : [];
  expect(calls).toEqual([['install', '--yes', '--no-install-recommends', 'postgresql']]);
  expect(calls.map(bringsServer)).toEqual([true]);
});

test('a browser is installed only for the tests, on distributions that have a package', () => {
  const facts = hostFacts({ without: ['chromium', 'certutil'] });
  expect(planInstall(facts, 'service')).toBeUndefined();
  expect(planInstall(facts, 'tests')?.packages).toEqual(['chromium', 'libnss3-tools']);
  const ubuntu = { id: 'ubuntu', codename: 'noble', name: 'Ubuntu 24.04' };
  expect(planInstall({ ...facts, distribution: ubuntu }, 'tests')?.packages).toEqual(['libnss3-tools']);
});

test('the key of an archive is found in both kinds of sources files', () => {
  const stanzas = [
    'Types: deb\n# a comment\nURIs: http://other.test/x\nSigned-By: /other.gpg',
    'Types: deb\nURIs: http://mirror.test/debian/\nSuites: bookworm\nSigned-By: /keys/mirror.gpg',
  ].join('\n\n');
  expect(findSignedBy(stanzas, 'http://mirror.test/debian')).toBe('/keys/mirror.gpg');
  const line = 'deb [arch=arm64 signed-by=/keys/line.gpg] http://mirror.test/debian bookworm main';
  expect(findSignedBy(line, 'http://mirror.test/debian')).toBe('/keys/line.gpg');
  expect(findSignedBy('deb http://mirror.test/debian bookworm main', 'http://mirror.test/debian')).toBeUndefined();
});

test('an embedded key is returned unchanged', () => {
  const key = '-----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n -----END PGP PUBLIC KEY BLOCK-----';
  const text = `Types: deb\nURIs: http://mirror.test/debian\nSigned-By:\n ${key}\nSuites: bookworm`;
  expect(findSignedBy(text, 'http://mirror.test/debian')).toBe(key);
});

test('the added source is a complete stanza', () => {
  expect(formatSources({ uri: 'http://mirror.test/debian', suite: 'bookworm-backports' }, '/k.gpg')).toBe(
    'Types: deb\nURIs: http://mirror.test/debian\nSuites: bookworm-backports\nComponents: main\nSigned-By: /k.gpg\n',
  );
});
