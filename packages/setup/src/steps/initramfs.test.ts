import { expect, test } from 'vitest';
import { packCpio } from './initramfs.ts';

test('members follow each other on four-byte borders and the trailer ends the archive', () => {
  const archive = packCpio([
    { type: 'directory', path: 'dev', mode: 0o755 },
    { type: 'character-device', path: 'dev/console', mode: 0o600, major: 5, minor: 1 },
    { type: 'file', path: 'init', mode: 0o755, bytes: Buffer.from('hello') },
  ]);
  const text = archive.toString('latin1');
  expect(archive.length % 4).toBe(0);
  expect(text.split('070701')).toHaveLength(5);
  // inode, mode, uid, gid, links, date, size, device of the file (2), device of the node (2), name length, checksum
  const header = ['00000003', '000081ed', ...Array(2).fill('00000000'), '00000001', '00000000', '00000005'];
  expect(text).toContain(`070701${[...header, ...Array(4).fill('00000000'), '00000005', '00000000'].join('')}init\0`);
  expect(text).toContain('00000005000000010000000c00000000dev/console\0');
  expect(text.indexOf('hello') % 4).toBe(0);
  expect(text.includes('TRAILER!!!\0')).toBe(true);
});

test('the same members give the same bytes', () => {
  const members = [{ type: 'file', path: 'a', mode: 0o644, bytes: Buffer.from('x') }] as const;
  expect(packCpio(members).equals(packCpio(members))).toBe(true);
});
