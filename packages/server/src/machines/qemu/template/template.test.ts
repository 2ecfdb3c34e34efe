import { expect, it } from 'vitest';
import type { QemuEngine } from '../engine.ts';
import { templateKey } from './template.ts';

const engine: QemuEngine = {
  arch: 'x64',
  acceleration: 'kvm',
  cpuModel: 'host',
  hostCpu: 'Xeon',
  kvmWarning: undefined,
  reservesMemory: false,
  binary: '/usr/bin/qemu-system-x86_64',
  versionText: '10.0.2',
  machineType: 'pc-q35-10.0',
  preloadPath: undefined,
};
const key = (changes: Partial<QemuEngine>) => templateKey({ ...engine, ...changes }, 'small', ['kernel', 'disks']);

it.each([
  ['the processor of the host', { hostCpu: 'another Xeon' }],
  ['the version of QEMU', { versionText: '10.0.3' }],
  ['the acceleration', { acceleration: 'tcg' }],
  ['the model of the CPU', { cpuModel: 'host,pmu=off' }],
] as const)('a template is not used with a change of %s', (_, changes) => {
  expect(key(changes)).not.toBe(key({}));
});

it('a template is used with the same QEMU at another path', () => {
  expect(key({ binary: '/opt/qemu' })).toBe(key({}));
});
