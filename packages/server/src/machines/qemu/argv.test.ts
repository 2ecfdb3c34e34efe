import { sizes } from '@mayfly/contract';
import { describe, expect, it } from 'vitest';
import { buildArgv, defaultDiskRates, type MachinePlan } from './argv.ts';
import { cpuModels } from './engine.ts';

function plan(arch: 'arm64' | 'x64', acceleration: 'kvm' | 'tcg', start: MachinePlan['start']): MachinePlan {
  const [cpuModel = ''] = cpuModels(arch, acceleration);
  return {
    engine: {
      arch,
      acceleration,
      machineType: arch === 'arm64' ? 'virt-10.0' : 'pc-q35-10.0',
      cpuModel,
      reservesMemory: false,
      preloadPath: '/cache/qemu-preload.so',
    },
    name: 'mayfly-one',
    resources: sizes.small,
    ramPath: '/templates/ram',
    disk: [
      { format: 'raw', path: '/images/disk.raw' },
      { format: 'qcow2', path: '/templates/disk.qcow2' },
      ...(start.kind === 'restore' ? [{ format: 'qcow2', path: '/machines/one/disk.qcow2' } as const] : []),
    ],
    ...(start.kind === 'restore' && { diskRates: defaultDiskRates }),
    sockets:
      start.kind === 'restore'
        ? { qmp: { fd: 3 }, control: { fd: 4 }, data: { fd: 5 } }
        : { qmp: { path: '/t/qmp' }, control: { path: '/t/control' }, data: { path: '/t/data' } },
    tapName: 'tap0',
    start,
  };
}

const boot: MachinePlan['start'] = {
  kind: 'boot',
  kernelPath: '/images/vmlinuz',
  initrdPath: '/images/initrd',
  consolePath: '/templates/console.log',
};
const restore: MachinePlan['start'] = { kind: 'restore' };

/** The options that define the device model, in order. A saved state loads only when they are equal. */
function deviceModel(argv: readonly string[]): string[] {
  return argv.flatMap((word, index) =>
    ['-machine', '-cpu', '-smp', '-m', '-device'].includes(word) ? [`${word} ${argv[index + 1]}`] : [],
  );
}

describe.each(['arm64', 'x64'] as const)('the command line of a machine on %s', (arch) => {
  it.each(['kvm', 'tcg'] as const)('matches the golden file with %s', async (acceleration) => {
    const lines = [boot, restore].map((start) => buildArgv(plan(arch, acceleration, start)).join('\n'));
    await expect(`${lines.join('\n\n')}\n`).toMatchFileSnapshot(`./golden/${arch}-${acceleration}.txt`);
  });

  it('has the same device model for a boot and a restore', () => {
    const booting = buildArgv(plan(arch, 'tcg', boot));
    expect(deviceModel(booting)).toEqual(deviceModel(buildArgv(plan(arch, 'tcg', restore))));
    expect(deviceModel(booting)).toHaveLength(arch === 'x64' ? 12 : 11);
  });

  it('neither boots a kernel nor writes to the template on a restore', () => {
    const argv = buildArgv(plan(arch, 'kvm', restore));
    expect(argv).not.toContain('-kernel');
    expect(argv).toContain('-incoming');
    expect(argv.find((word) => word.startsWith('memory-backend-file'))).toMatch(/,share=off,reserve=off$/);
    const base = plan(arch, 'kvm', restore);
    const withoutLibrary = buildArgv({ ...base, engine: { ...base.engine, preloadPath: undefined } });
    expect(withoutLibrary.find((word) => word.startsWith('memory-backend-file'))).toContain('share=off,readonly=on');
    const disks = argv.flatMap((word, index) => (word === '-blockdev' ? [JSON.parse(argv[index + 1] ?? '')] : []));
    expect(disks.map((disk) => disk['read-only'])).toEqual([true, true, false]);
  });
});

it('reserves memory at the start only where the kernel never overcommits', () => {
  const memoryOption = (reservesMemory: boolean) => {
    const base = plan('arm64', 'kvm', restore);
    const argv = buildArgv({ ...base, engine: { ...base.engine, reservesMemory } });
    return argv.find((word) => word.startsWith('memory-backend-file'));
  };
  expect(memoryOption(false)).toContain('reserve=off');
  expect(memoryOption(true)).not.toContain('reserve');
});

it('keeps a path with a comma in one option', () => {
  const base = plan('arm64', 'tcg', restore);
  const argv = buildArgv({ ...base, sockets: { ...base.sockets, qmp: { path: '/a,b/qmp' } } });
  expect(argv).toContain('socket,id=qmp,path=/a,,b/qmp,server=on,wait=off');
});
