import type { QemuEngine } from '@mayfly/server/machines';
import { expect, it } from 'vitest';
import { describeAcceleration } from './prepare.ts';

const engine: QemuEngine = {
  arch: 'x64',
  acceleration: 'tcg',
  cpuModel: 'max',
  hostCpu: undefined,
  kvmWarning: undefined,
  reservesMemory: false,
  binary: '/usr/bin/qemu-system-x86_64',
  versionText: '10.0.2',
  machineType: 'pc-q35-10.0',
  preloadPath: undefined,
};

it.each<[string, Partial<QemuEngine>, string]>([
  ['KVM', { acceleration: 'kvm' }, "✓ KVM works: machines run on the host's processor"],
  ['a host without KVM', {}, 'there is no /dev/kvm'],
  ['KVM that does not work', { kvmWarning: 'It is broken. Mend it.' }, 'many times slower: It is broken. Mend it.'],
])('set-up says what machines run on: %s', (_, changes, text) => {
  expect(describeAcceleration({ ...engine, ...changes })).toContain(text);
});
