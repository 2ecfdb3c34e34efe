import { expect, test } from 'vitest';
import { hostFacts } from '../../test/host-facts.ts';
import { findProblems, formatProblems } from './problems.ts';

const gib = 2 ** 30;
const building = { mustBuild: true, cacheDir: '/var/cache/mayfly', purpose: 'service' } as const;
const cached = { mustBuild: false, cacheDir: '/var/cache/mayfly', purpose: 'service' } as const;

test('a good host has no problems, also when packages are missing that root can install', () => {
  expect(findProblems(hostFacts(), building)).toEqual([]);
  expect(findProblems(hostFacts({ without: ['mmdebstrap'] }), building)).toEqual([]);
});

test('another system or processor is the one thing said about it', () => {
  expect(findProblems(hostFacts({ platform: 'darwin', isRoot: false }), building)).toHaveLength(1);
  expect(findProblems(hostFacts({ arch: 'riscv64' }), building)[0]?.need).toContain('riscv64');
});

test('too little disk names the number, the folder and the remedy; a prepared machine needs less', () => {
  const facts = hostFacts({ cacheFreeBytes: 2 * gib });
  expect(formatProblems(findProblems(facts, building))).toBe(
    [
      'Mayfly cannot be set up on this machine yet. Nothing was changed.',
      '  • Needs 6 GiB of free disk for /var/cache/mayfly (2 GiB are free).',
      '    Free some space, or set MAYFLY_CACHE_DIR to a folder on a larger disk.',
    ].join('\n'),
  );
  expect(findProblems(facts, cached)).toEqual([]);
});

test('memory: too little at all, and too little left while building only', () => {
  const small = hostFacts({ memory: { totalBytes: 2 * gib, availableBytes: 2 * gib } });
  expect(findProblems(small, cached)[0]?.need).toBe('4 GiB of memory (this machine has 2 GiB)');
  const busy = hostFacts({ memory: { totalBytes: 8 * gib, availableBytes: 1 * gib } });
  expect(findProblems(busy, building)[0]?.need).toContain('1.5 GiB of free memory');
  expect(findProblems(busy, cached)).toEqual([]);
});

test('without root all is said at once, with the exact commands', () => {
  const facts = hostFacts({ isRoot: false, qemuVersion: '7.2.19', without: ['nft'] });
  const message = formatProblems(findProblems(facts, building));
  expect(message).toContain('qemu-system-aarch64 8.2 or newer, qemu-img 8.2 or newer, nft');
  expect(message).toContain(
    "printf 'Types: deb\\nURIs: http://mirror.test/debian\\nSuites: bookworm-backports\\nComponents: main\\n" +
      "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\\n' | sudo tee /etc/apt/sources.list.d/mayfly-backports.sources",
  );
  expect(message).toContain('sudo apt-get install --yes --no-install-recommends nftables\n');
  expect(message).toContain('-t bookworm-backports qemu-system-arm qemu-utils');
  expect(message).toContain('Needs root');
});

test('a host without apt, or with a release too old, is told so', () => {
  const fedora = { id: 'fedora', codename: '', name: 'Fedora Linux 42' };
  const facts = hostFacts({ hasApt: false, distribution: fedora, without: ['mmdebstrap'] });
  expect(findProblems(facts, building)[0]?.remedy).toContain('package manager of Fedora Linux 42');
  const jammy = { id: 'ubuntu', codename: 'jammy', name: 'Ubuntu 22.04' };
  expect(findProblems(hostFacts({ distribution: jammy, qemuVersion: '6.2' }), building)[0]?.remedy).toContain(
    'older QEMU',
  );
});
