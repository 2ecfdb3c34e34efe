import { expect, it } from 'vitest';
import { isOlder, machineTypeFor, oldestQemu, parseQemuVersion } from './engine.ts';

it('parses the versions that distributions print', () => {
  expect(parseQemuVersion('QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2+deb13u1~bpo12+1)')).toEqual({
    major: 10,
    minor: 0,
  });
  expect(parseQemuVersion('QEMU emulator version 8.2.2 (Debian 1:8.2.2+ds-0ubuntu1.10)')).toEqual({
    major: 8,
    minor: 2,
  });
  expect(parseQemuVersion('command not found')).toBeUndefined();
});

it('rejects versions that cannot restore copy-on-write', () => {
  expect(isOlder({ major: 7, minor: 2 }, oldestQemu)).toBe(true);
  expect(isOlder({ major: 8, minor: 1 }, oldestQemu)).toBe(true);
  expect(isOlder({ major: 8, minor: 2 }, oldestQemu)).toBe(false);
});

it('chooses a machine type that newer versions still have', () => {
  expect(machineTypeFor('arm64', { major: 8, minor: 2 })).toBe('virt-8.2');
  expect(machineTypeFor('arm64', { major: 11, minor: 1 })).toBe('virt-10.0');
  expect(machineTypeFor('x64', { major: 10, minor: 0 })).toBe('pc-q35-10.0');
});
