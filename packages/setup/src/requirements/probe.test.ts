import { expect, test } from 'vitest';
import { findCommand, parsePrintedUris, tryProgram } from './probe.ts';

test('archives are read from the list of files that apt would download', () => {
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

test('commands are found on the PATH, files by their path', async () => {
  expect(await findCommand('sh')).toMatch(/\/sh$/);
  expect(await findCommand('/etc/os-release')).toBe('/etc/os-release');
  expect(await findCommand('no-such-command-of-mayfly')).toBeUndefined();
});

test('a program that is missing or fails gives nothing', async () => {
  expect(await tryProgram('echo', ['here'])).toBe('here\n');
  expect(await tryProgram('false', [])).toBeUndefined();
  expect(await tryProgram('/no/such/program', [])).toBeUndefined();
});
