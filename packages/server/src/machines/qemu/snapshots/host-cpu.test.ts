import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readHostCpu } from '../kvm.ts';
import { whyOtherCpu } from './host-cpu.ts';

const xeonFlags =
  'fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ss ht syscall nx pdpe1gb rdtscp lm constant_tsc arch_perfmon rep_good nopl xtopology nonstop_tsc cpuid tsc_known_freq pni pclmulqdq vmx ssse3 fma cx16 pcid sse4_1 sse4_2 x2apic movbe popcnt tsc_deadline_timer aes xsave avx f16c rdrand hypervisor lahf_lm abm 3dnowprefetch cpuid_fault invpcid_single ssbd ibrs ibpb stibp ibrs_enhanced tpr_shadow ept vpid ept_ad fsgsbase tsc_adjust bmi1 avx2 smep bmi2 erms invpcid avx512f avx512dq rdseed adx smap clflushopt clwb avx512cd avx512bw avx512vl xsaveopt xsavec xgetbv1 xsaves arat umip pku ospke avx512_vnni md_clear arch_capabilities';

/** Two cores of a Cascade Lake Xeon. */
const xeon = [0, 1]
  .map((core) =>
    [
      `processor\t: ${core}`,
      'vendor_id\t: GenuineIntel',
      'cpu family\t: 6',
      'model\t\t: 85',
      'model name\t: Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz',
      'stepping\t: 7',
      'microcode\t: 0x5003604',
      `cpu MHz\t\t: ${3100 + core}.123`,
      'cache size\t: 36608 KB',
      `apicid\t\t: ${core}`,
      `flags\t\t: ${xeonFlags}`,
      'vmx flags\t: vnmi preemption_timer invvpid ept_x_only ept_ad ept_1gb flexpriority tsc_offset vtpr',
      'bugs\t\t: spectre_v1 spectre_v2 spec_store_bypass mds',
      'address sizes\t: 46 bits physical, 48 bits virtual',
      'power management:',
      '',
    ].join('\n'),
  )
  .join('\n');

/** Two cores of a Neoverse N1. */
const neoverse = [0, 1]
  .map((core) =>
    [
      `processor\t: ${core}`,
      'BogoMIPS\t: 50.00',
      'Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp ssbs',
      'CPU implementer\t: 0x41',
      'CPU architecture: 8',
      'CPU variant\t: 0x3',
      'CPU part\t: 0xd0c',
      'CPU revision\t: 1',
      '',
    ].join('\n'),
  )
  .join('\n');

/** What Mayfly stores of a processor, under a release of the kernel. */
async function hostCpuOf(cpuinfo: string, kernel = '6.1.0-31-cloud-amd64'): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-cpuinfo-'));
  try {
    const path = join(folder, 'cpuinfo');
    await writeFile(path, cpuinfo);
    return (await readHostCpu(path)).replace(release(), kernel);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Why a snapshot that was saved on the first processor cannot run on the second one, with a newer kernel. */
async function whyNot(saved: string, ours: string): Promise<string | undefined> {
  return whyOtherCpu(await hostCpuOf(saved), await hostCpuOf(ours, '6.12.48+deb13-cloud-amd64'));
}

test.each([
  ['the kernel', xeon, xeon],
  ['the kernel, on arm64', neoverse, neoverse],
  ['the microcode', xeon, xeon.replaceAll('0x5003604', '0x5003901')],
  ['the stepping', xeon, xeon.replaceAll('stepping\t: 7', 'stepping\t: 6')],
  ['the revision', neoverse, neoverse.replaceAll('CPU revision\t: 1', 'CPU revision\t: 2')],
  ['features that are new', xeon, xeon.replaceAll('md_clear', 'md_clear flush_l1d')],
  ['features that are new, on arm64', neoverse, neoverse.replaceAll('ssbs', 'ssbs sb')],
  ['flags that only the host sees', xeon, xeon.replaceAll(/ (?:invpcid_single|vmx|ept|arch_perfmon)\b/g, '')],
  ['flags that only the host sees, on arm64', neoverse, neoverse.replaceAll(' evtstrm', '')],
])('a snapshot runs on the same processor although this differs: %s', async (_what, saved, ours) => {
  expect(await hostCpuOf(saved)).not.toBe(await hostCpuOf(ours, 'another'));
  expect(await whyNot(saved, ours)).toBeUndefined();
});

test('another processor is named, without the kernel', async () => {
  const epyc = xeon
    .replaceAll('GenuineIntel', 'AuthenticAMD')
    .replaceAll('cpu family\t: 6', 'cpu family\t: 25')
    .replaceAll('Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz', 'AMD EPYC 7R13 Processor');
  expect(await whyNot(xeon, epyc)).toBe(
    'it was saved with the processor Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz, and this host has AMD EPYC 7R13 Processor',
  );
  expect(await whyNot(neoverse, neoverse.replaceAll('0xd0c', '0xd4f'))).toBe(
    'it was saved with the processor implementer 0x41, part 0xd0c, and this host has implementer 0x41, part 0xd4f',
  );
});

test('two models with one name are told apart', async () => {
  const named = (model: number) =>
    xeon.replaceAll('model\t\t: 85', `model\t\t: ${model}`).replaceAll(/model name.*/g, 'model name\t: Intel Xeon');
  expect(await whyNot(named(85), named(106))).toBe(
    'it was saved with the processor Intel Xeon (family 6, model 85), and this host has Intel Xeon (family 6, model 106)',
  );
});

test('a few of the missing features are named, and the others are counted', async () => {
  expect(await whyNot(xeon, xeon.replaceAll(/ avx512\w+/g, ''))).toBe(
    'it was saved with features of the processor (Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz) that are missing here: avx512f, avx512dq, avx512cd, avx512bw and 2 more',
  );
  expect(await whyNot(neoverse, neoverse.replaceAll(' atomics', '').replaceAll(' ssbs', ''))).toBe(
    'it was saved with features of the processor (implementer 0x41, part 0xd0c) that are missing here: atomics, ssbs',
  );
});

test('a processor with two kinds of cores is the same whichever is listed first', async () => {
  const [first = '', second = ''] = neoverse.replace('0xd0c', '0xd05').split(/(?=processor\t: 1)/);
  expect(await whyNot(`${first}${second}`, `${second}\n${first}`)).toBeUndefined();
  expect(await whyNot(`${first}${second}`, neoverse)).toContain('part 0xd05 and 0xd0c, and this host has');
});
