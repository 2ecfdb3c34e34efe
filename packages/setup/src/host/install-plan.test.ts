import { expect, test } from 'vitest';
import { hostFacts } from './facts.fixture.ts';
import { aptInstallCalls, planInstall } from './install-plan.ts';

test('a prepared host is left alone, also a Debian 12 with a newer QEMU of its own', () => {
  expect(planInstall(hostFacts())).toBeUndefined();
});

test('only what is missing is installed', () => {
  const facts = hostFacts({ without: ['mke2fs', 'nft'] });
  const plan = planInstall(facts);
  expect(plan && aptInstallCalls(plan)).toEqual([
    ['install', '--yes', '--no-install-recommends', 'e2fsprogs', 'nftables'],
  ]);
});

test('Debian 12 takes QEMU from backports, adding the suite on its own mirror', () => {
  const plan = planInstall(hostFacts({ qemuVersion: '7.2.19' }));
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
  const plan = planInstall(hostFacts({ without: ['qemu-img'], archives }));
  expect(plan?.archiveToAdd).toBeUndefined();
  expect(plan?.backportsPackages).toEqual(['qemu-utils']);
});

test('newer releases install QEMU from themselves', () => {
  const facts = hostFacts({
    without: ['qemu-img'],
    distribution: { id: 'debian', codename: 'trixie', name: 'Debian 13' },
  });
  expect(planInstall(facts)).toMatchObject({
    packages: ['qemu-utils'],
    backportsPackages: [],
    archiveToAdd: undefined,
  });
});
