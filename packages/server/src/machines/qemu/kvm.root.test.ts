import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cpuModels, detectEngine, machineOptions, type QemuEngine } from './engine.ts';
import { explainKvmFailure, type KvmSupport, readHostCpu, tryKvm } from './kvm.ts';
import { tryKernelOnKvm } from './kvm-guest.ts';

let folder: string;
let engine: QemuEngine;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-kvm-'));
  await chmod(folder, 0o755);
  engine = await detectEngine();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Tries KVM with the host's QEMU, or a stand-in for it, and a device of the test. */
function tryDevice(devicePath: string, binary = engine.binary): Promise<KvmSupport> {
  const machine = machineOptions({ ...engine, acceleration: 'kvm' });
  return tryKvm({ binary, machine, cpuModels: cpuModels(engine.arch, 'kvm'), devicePath });
}

/** Creates a character device with a number that no driver has, as when a module is not loaded. */
function makeNode(path: string): void {
  expect(spawnSync('mknod', ['-m', '666', path, 'c', '254', '1048575']).status).toBe(0);
}

async function makeScript(name: string, lines: readonly string[]): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, ['#!/bin/sh', ...lines, ''].join('\n'), { mode: 0o755 });
  return path;
}

describe('a host', () => {
  it('without the device has no KVM', async () => {
    expect(await tryDevice(join(folder, 'none'))).toEqual({ kind: 'absent' });
  });

  it('whose module is not loaded is told to load it or to switch on virtualization', async () => {
    const path = join(folder, 'no-driver');
    makeNode(path);
    expect(await tryDevice(path)).toMatchObject({
      kind: 'broken',
      explanation: expect.stringMatching(
        /no-driver exists but KVM does not work \(No such device.*modprobe kvm_intel or modprobe kvm_amd.*nested virtualization/,
      ),
    });
  });

  it('that may not open the device is told how to allow it', async () => {
    const path = join(folder, 'forbidden');
    makeNode(path);
    await chmod(path, 0o600);
    const unprivileged = await makeScript('unprivileged', [
      `exec setpriv --reuid 65534 --regid 65534 --clear-groups ${engine.binary} "$@"`,
    ]);
    expect(await tryDevice(path, unprivileged)).toMatchObject({
      kind: 'broken',
      explanation: expect.stringMatching(
        /\(Permission denied\)\. Let this process open it: in a container, pass the device in/,
      ),
    });
  });

  it('whose device is something else is told to look at the kernel log', async () => {
    const path = join(folder, 'file');
    await writeFile(path, '');
    const support = await tryDevice(path);
    expect(support).toMatchObject({ kind: 'broken', explanation: expect.stringContaining('See dmesg') });
  });

  it('with a broken device emulates machines and says why', async () => {
    const path = join(folder, 'fallback');
    makeNode(path);
    const fallback = await detectEngine('/lib/preload.so', path);
    expect(fallback).toMatchObject({ acceleration: 'tcg', hostCpu: undefined, preloadPath: '/lib/preload.so' });
    expect(fallback.kvmWarning).toContain('fallback exists but KVM does not work');
  });
});

it('passes over a CPU model whose options the host does not know', async () => {
  const binary = await makeScript('qemu', [
    `case "$*" in *pmu=off*) echo "qemu: Property 'host-arm-cpu.pmu' not found" >&2; exit 1 ;; esac`,
  ]);
  await writeFile(join(folder, 'device'), '');
  const trial = { binary, machine: 'virt', cpuModels: ['host,pmu=off', 'host'], devicePath: join(folder, 'device') };
  expect(await tryKvm(trial)).toEqual({ kind: 'works', cpuModel: 'host' });
});

describe("a KVM that creates machines is tried with the guests' kernel", () => {
  const tryKernel = async (name: string, lines: readonly string[]) =>
    await tryKernelOnKvm(
      { ...engine, acceleration: 'kvm', cpuModel: 'host', binary: await makeScript(name, lines) },
      '/kernel',
    );

  it('and works if the kernel starts and looks for a disk', async () => {
    const panic = '[    1.0] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)';
    expect(await tryKernel('boots', [`echo '${panic}'`])).toBeUndefined();
  });

  it('and is not used if KVM gives the machine up, although QEMU goes on', async () => {
    const lines = [`echo 'KVM internal error. Suberror: 1' >&2`, 'exec sleep 600'];
    expect(await tryKernel('gives-up', lines)).toEqual({
      explanation: expect.stringMatching(
        /^\/dev\/kvm exists but the guests' kernel does not run on it \(KVM internal error\. Suberror: 1\)\. Use a host/,
      ),
      isLasting: true,
    });
  });

  it.each([
    ['fails', [`echo 'qemu: no such kernel' >&2`, 'exit 1'], '(qemu: no such kernel)'],
    ['silent', [], '(it printed nothing)'],
  ])('and is not used this time if QEMU ends without it (%s)', async (name, lines, reason) => {
    expect(await tryKernel(name, lines)).toEqual({ explanation: expect.stringContaining(reason), isLasting: false });
  });
});

it('names the other hypervisor when the processor is busy', () => {
  const output = 'qemu-system-x86_64: -accel kvm: failed to initialize kvm: Device or resource busy';
  expect(explainKvmFailure('/dev/kvm', output)).toBe(
    '/dev/kvm exists but KVM does not work (Device or resource busy). Another hypervisor, such as VirtualBox, holds the processor. Stop it.',
  );
});

describe('the identity of the host CPU', () => {
  const cpuinfo = (lines: readonly string[]) => writeFile(join(folder, 'cpuinfo'), `${lines.join('\n')}\n`);
  const read = () => readHostCpu(join(folder, 'cpuinfo'));
  const intel = ['vendor_id\t: GenuineIntel', 'model name\t: Xeon', 'microcode\t: 0x1', 'flags\t\t: fpu avx2'];

  it('stays the same while the clock speed changes', async () => {
    await cpuinfo([...intel, 'cpu MHz\t\t: 2000.1', 'bogomips\t: 4000']);
    const before = await read();
    await cpuinfo([...intel, 'cpu MHz\t\t: 3000.2', 'bogomips\t: 4001']);
    expect(await read()).toBe(before);
  });

  it.each([
    ['microcode\t: 0x1', 'microcode\t: 0x2'],
    ['flags\t\t: fpu avx2', 'flags\t\t: fpu'],
  ])('changes with %j', async (line, changed) => {
    await cpuinfo(intel);
    const before = await read();
    await cpuinfo(intel.map((each) => (each === line ? changed : each)));
    expect(await read()).not.toBe(before);
  });
});
