import { expect, it } from 'vitest';
import { type JailPlan, jailSpec, qemuBinds } from './spec.ts';

function plan(arch: 'arm64' | 'x64', program: string): JailPlan {
  return {
    uid: 2_000_007,
    gid: 2_000_007,
    cgroupProcs: ['/sys/fs/cgroup/mayfly/main/one/cgroup.procs'],
    networkNamespace: '/run/netns/mayfly7',
    listen: [{ path: '/machines/one/qmp', fd: 3 }],
    binds: qemuBinds({
      arch,
      program,
      preloadPath: arch === 'arm64' ? '/cache/shim.so' : undefined,
      readOnly: ['/templates/ram', '/templates/state', '/images/disk.raw'],
      writable: ['/machines/one'],
    }),
    devices: { kvm: arch === 'x64', tun: true },
    maxFileBytes: 1024,
    ramPath: '/template/ram',
    preloadPath: arch === 'arm64' ? '/cache/shim.so' : undefined,
    program,
    argv: ['-name', 'one'],
  };
}

it.each([
  ['arm64', '/usr/bin/qemu-system-aarch64'],
  ['x64', '/usr/bin/qemu-system-x86_64'],
] as const)('matches the golden file on %s', async (arch, program) => {
  const text = `${JSON.stringify(jailSpec(plan(arch, program)), null, 2)}\n`;
  await expect(text).toMatchFileSnapshot(`./golden/${arch}.txt`);
});

it('has no network, device or file limit unless requested', () => {
  const { networkNamespace, listen, maxFileBytes, ...rest } = plan('arm64', '/qemu');
  const spec = jailSpec({ ...rest, devices: { kvm: false, tun: false } });
  expect([networkNamespace, listen, maxFileBytes]).not.toContain(undefined);
  expect(spec).toMatchObject({ network: 'none', listen: [], devices: ['null', 'zero', 'random', 'urandom'] });
  expect(spec.rlimits).toEqual({ core: 0, memlock: 0, nofile: 1024 });
});

it('tells the preloaded library where the memory of a snapshot is', () => {
  const memory = {
    ramPlanPath: '/machines/one/ram.plan',
    ramLayerPaths: ['/machines/one/ram.1', '/machines/one/ram.2'],
  };
  expect(jailSpec({ ...plan('arm64', '/qemu'), ...memory }).env).toEqual({
    LD_PRELOAD: '/cache/shim.so',
    MAYFLY_RAM_FILE: '/template/ram',
    MAYFLY_RAM_PLAN: '/machines/one/ram.plan',
    MAYFLY_RAM_LAYERS: '/machines/one/ram.1:/machines/one/ram.2',
  });
});

it('refuses layers whose paths the preloaded library would split', () => {
  const memory = { ramPlanPath: '/a:b/ram.plan', ramLayerPaths: ['/a:b/ram.1'] };
  expect(() => jailSpec({ ...plan('arm64', '/qemu'), ...memory })).toThrow('The path /a:b/ram.1 contains a colon');
});

it('binds a folder before the paths inside it', () => {
  const binds = [
    { path: '/data/one/template', mode: 'ro' },
    { path: '/data', mode: 'ro' },
    { path: '/data/one', mode: 'rw' },
  ] as const;
  const spec = jailSpec({ ...plan('arm64', '/qemu'), binds });
  expect(spec.binds.map(({ path }) => path)).toEqual(['/data', '/data/one', '/data/one/template']);
});
