import { expect, test } from 'vitest';
import { findSignedBy, formatSources, parsePrintedUris } from './apt-sources.ts';

test('suites and archives come out of what apt would download', () => {
  const output = [
    "'http://mirror.test/debian/dists/bookworm/InRelease' mirror.test_debian_dists_bookworm_InRelease 0 ",
    "'http://mirror.test/debian-security/dists/bookworm-security/InRelease' x 0 ",
    "'http://mirror.test/debian/dists/bookworm/main/binary-arm64/Packages.xz' x 0 ",
    "'http://old.test/debian/dists/stable/updates/InRelease' x 0 ",
  ].join('\n');
  expect(parsePrintedUris(output)).toEqual([
    { uri: 'http://mirror.test/debian', suite: 'bookworm' },
    { uri: 'http://mirror.test/debian-security', suite: 'bookworm-security' },
    { uri: 'http://old.test/debian', suite: 'stable/updates' },
  ]);
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

test('an embedded key is kept as it is', () => {
  const key = '-----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n -----END PGP PUBLIC KEY BLOCK-----';
  const text = `Types: deb\nURIs: http://mirror.test/debian\nSigned-By:\n ${key}\nSuites: bookworm`;
  expect(findSignedBy(text, 'http://mirror.test/debian')).toBe(key);
});

test('the added source is a complete stanza', () => {
  expect(formatSources({ uri: 'http://mirror.test/debian', suite: 'bookworm-backports' }, '/k.gpg')).toBe(
    'Types: deb\nURIs: http://mirror.test/debian\nSuites: bookworm-backports\nComponents: main\nSigned-By: /k.gpg\n',
  );
});
