import { expect, test } from 'vitest';
import { hostFacts } from './facts.fixture.ts';
import { aptInstallCalls, bringsServer, planInstall } from './install-plan.ts';

test('a prepared host is left alone, also a Debian 12 with a newer QEMU of its own', () => {
  expect(planInstall(hostFacts(), 'tests')).toBeUndefined();
});

test('only what is missing is installed', () => {
  const facts = hostFacts({ without: ['mke2fs', 'nft'] });
  const plan = planInstall(facts, 'service');
  expect(plan && aptInstallCalls(plan)).toEqual([
    ['install', '--yes', '--no-install-recommends', 'e2fsprogs', 'nftables'],
  ]);
});

test('Debian 12 takes QEMU from backports, adding the suite on its own mirror', () => {
  const plan = planInstall(hostFacts({ qemuVersion: '7.2.19' }), 'service');
  expect(plan?.archiveToAdd).toEqual({ uri: 'http://mirror.test/debian', suite: 'bookworm-backports' });
  expect(plan && aptInstallCalls(plan)).toEqual([
    ['install', '--yes', '--no-install-recommends', '-t', 'bookworm-backports', 'qemu-system-arm', 'qemu-utils'],
  ]);
});

test('a backports suite that is configured already is not added again', () => {
  const archives = [
    { uri: 'http://mirror.test/debian', suite: 'bookworm' },
    { uri: 'http://mirror.test/debian', suite: 'bookworm-backports' },
  ];
  const plan = planInstall(hostFacts({ without: ['qemu-img'], archives }), 'service');
  expect(plan?.archiveToAdd).toBeUndefined();
  expect(plan?.backportsPackages).toEqual(['qemu-utils']);
});

test('newer releases install QEMU from themselves', () => {
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

test('a database server is installed for the tests alone, and known to bring more than programs', () => {
  const facts = hostFacts({ without: ['postgres'] });
  expect(planInstall(facts, 'service')).toBeUndefined();
  const plan = planInstall(facts, 'tests');
  const calls = plan ? aptInstallCalls(plan) : [];
  expect(calls).toEqual([['install', '--yes', '--no-install-recommends', 'postgresql']]);
  expect(calls.map(bringsServer)).toEqual([true]);
});

test('a browser is installed for the tests alone, where there is a package of it', () => {
  const facts = hostFacts({ without: ['chromium', 'certutil'] });
  expect(planInstall(facts, 'service')).toBeUndefined();
  expect(planInstall(facts, 'tests')?.packages).toEqual(['chromium', 'libnss3-tools']);
  const ubuntu = { id: 'ubuntu', codename: 'noble', name: 'Ubuntu 24.04' };
  expect(planInstall({ ...facts, distribution: ubuntu }, 'tests')?.packages).toEqual(['libnss3-tools']);
});
