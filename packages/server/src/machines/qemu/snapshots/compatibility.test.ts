import { expect, test } from 'vitest';
import { SnapshotUnusable } from '../../../core/ports/machine-driver.ts';
import type { QemuEngine } from '../engine.ts';
import { engineFor, explainFailedLoad, requirementsOf, whyNotSavable } from './compatibility.ts';
import type { SnapshotManifest } from './snapshot-folder.ts';

/** A processor of Arm, as Mayfly stores it. */
function hostCpu(part: string, kernel = '6.12.48', features = 'fp asimd atomics'): string {
  return [kernel, `Features\t: ${features}`, 'CPU implementer\t: 0x41', `CPU part\t: ${part}`].join('\n');
}

const engine: QemuEngine = {
  arch: 'arm64',
  acceleration: 'kvm',
  cpuModel: 'host,pmu=off',
  hostCpu: hostCpu('0xd0c'),
  kvmWarning: undefined,
  reservesMemory: false,
  binary: '/usr/bin/qemu-system-aarch64',
  versionText: '10.0.2 (Debian 1:10.0.2+ds-2)',
  machineType: 'virt-10.0',
  preloadPath: '/cache/qemu-preload.so',
};

function savedOn(host: QemuEngine): SnapshotManifest {
  return { ...requirementsOf(host, 'small'), id: 'snap_1', ramLayers: 2, diskLayers: 3, createdAtMs: 1 };
}

test('a snapshot runs on the host that it was saved on', () => {
  expect(engineFor(savedOn(engine), engine)).toEqual(engine);
});

test('a snapshot of an older QEMU runs on a newer one, as the type of machine that it was', () => {
  const older = { ...engine, versionText: '9.2.1', machineType: 'virt-9.2' };
  expect(engineFor(savedOn(older), engine).machineType).toBe('virt-9.2');
});

test('an emulated snapshot keeps its model of the CPU, and so do snapshots of its copies', () => {
  const emulated: QemuEngine = { ...engine, acceleration: 'tcg', cpuModel: 'max,sve=off,pmu=off', hostCpu: undefined };
  const earlier = { ...emulated, cpuModel: 'max,pmu=off' };
  const fitting = engineFor(savedOn(earlier), emulated);
  expect(fitting).toEqual(earlier);
  expect(requirementsOf(fitting, 'small')).toEqual(requirementsOf(earlier, 'small'));
  expect(engineFor(savedOn(fitting), emulated)).toEqual(earlier);
});

test.each<[string, Partial<QemuEngine>, string]>([
  ['another acceleration', { acceleration: 'tcg' }, 'the acceleration tcg, and this host has kvm'],
  [
    'another processor',
    { hostCpu: hostCpu('0xd4f') },
    'the processor implementer 0x41, part 0xd4f, and this host has implementer 0x41, part 0xd0c',
  ],
  ['more features', { hostCpu: hostCpu('0xd0c', '6.12.48', 'fp asimd atomics sve') }, 'missing here: sve'],
  ['another CPU model', { cpuModel: 'host' }, 'the CPU model host, and this host has host,pmu=off'],
  ['another architecture', { arch: 'x64' }, 'the architecture x64, and this host has arm64'],
  ['a newer QEMU', { machineType: 'virt-11.1' }, 'the machine type virt-11.1, and this host has QEMU 10.0.2'],
])('a snapshot of a host with %s is refused with both sides', (_what, change, message) => {
  const launch = () => engineFor(savedOn({ ...engine, ...change }), engine);
  expect(launch).toThrow(SnapshotUnusable);
  expect(launch).toThrow(message);
});

test('a snapshot runs after an update of the kernel, and its copies are saved as machines of the new one', () => {
  const updated = { ...engine, hostCpu: hostCpu('0xd0c', '6.18.2', 'fp asimd atomics sb') };
  expect(engineFor(savedOn(engine), updated)).toEqual(updated);
  const copied = requirementsOf(engineFor(savedOn(engine), updated), 'small');
  expect(copied.hostCpu).toBe(updated.hostCpu);
});

test('a load that fails is explained by another QEMU or kernel, if there is one', () => {
  const error = new Error('load of migration failed');
  const explain = (change: Partial<QemuEngine>) => explainFailedLoad(error, savedOn(engine), { ...engine, ...change });
  const kernel = { hostCpu: hostCpu('0xd0c', '6.18.2') };
  const qemu = { versionText: '10.1.0' };
  expect(explain({})).toBe(error);
  expect(explain(qemu)).toMatchObject({
    name: 'SnapshotUnusable',
    message: `The snapshot snap_1 was saved with QEMU ${engine.versionText} and could not be launched with QEMU 10.1.0.`,
    cause: error,
  });
  expect(explain(kernel)).toMatchObject({
    name: 'SnapshotUnusable',
    message:
      'The snapshot snap_1 was saved with another kernel, microcode or stepping of the processor and could not be launched on this host.',
  });
  expect(explain({ ...qemu, ...kernel })).toMatchObject({
    message: expect.stringMatching(/with QEMU 10.0.2 .* and with another kernel, .* launched with QEMU 10.1.0\.$/),
  });
});

test('a snapshot of a machine with other devices is refused', () => {
  expect(() => engineFor({ ...savedOn(engine), deviceModel: '0123' }, engine)).toThrow('the devices 0123');
});

test('machines of an old QEMU cannot be saved, which says what to do', () => {
  expect(whyNotSavable(engine)).toBeUndefined();
  expect(whyNotSavable({ ...engine, versionText: '8.2.2' })).toContain('Install a newer QEMU');
  expect(whyNotSavable({ ...engine, preloadPath: undefined })).toContain('Run npm start');
});
