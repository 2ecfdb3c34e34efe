import { expect, test } from 'vitest';
import { chooseDebianSources } from './debian-tree.ts';

const bookworm = { id: 'debian', codename: 'bookworm', name: 'Debian 12' };
const archives = [
  { suite: 'bookworm', uri: 'http://mirror.test/debian' },
  { suite: 'bookworm-security', uri: 'http://mirror.test/security' },
];
const debianKey = '[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]';

test('a Debian host gets Debian 13 with its security updates from where it gets its own packages', () => {
  expect(chooseDebianSources({ mirror: undefined, distribution: bookworm, archives, signedBy: undefined })).toEqual([
    `deb ${debianKey} http://mirror.test/debian trixie main`,
    `deb ${debianKey} http://mirror.test/debian trixie-updates main`,
    `deb ${debianKey} http://mirror.test/security trixie-security main`,
  ]);
});

test('a mirror that is asked for wins, with the key of the host', () => {
  const choice = { mirror: 'http://own.test/d', distribution: bookworm, archives, signedBy: '/keys/own.gpg' };
  expect(chooseDebianSources(choice)).toEqual(['deb [signed-by=/keys/own.gpg] http://own.test/d trixie main']);
});

test('another distribution, or an archive that is not on the network, leaves the choice to mmdebstrap', () => {
  const ubuntu = { id: 'ubuntu', codename: 'noble', name: 'Ubuntu 24.04' };
  const noble = [{ suite: 'noble', uri: 'http://mirror.test/ubuntu' }];
  expect(
    chooseDebianSources({ mirror: undefined, distribution: ubuntu, archives: noble, signedBy: undefined }),
  ).toEqual([]);
  const cdrom = [{ suite: 'bookworm', uri: 'cdrom:[Debian]' }];
  expect(
    chooseDebianSources({ mirror: undefined, distribution: bookworm, archives: cdrom, signedBy: undefined }),
  ).toEqual([]);
});
