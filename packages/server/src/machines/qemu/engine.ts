import { readFile } from 'node:fs/promises';
import { findProgram, runProgram } from '../../system/run-program.ts';
import { readHostCpu, tryKvm } from './kvm.ts';

/** A CPU architecture that Mayfly supports. Host and guest always have the same. */
export type Arch = 'arm64' | 'x64';

/** The properties of this host's QEMU that define a machine, and so belong to a template's key. */
export interface QemuEngine {
  readonly arch: Arch;
  readonly acceleration: 'kvm' | 'tcg';
  /** The value of -cpu. */
  readonly cpuModel: string;
  /** Identifies the processor that guests see with KVM; undefined for emulation, where it depends on QEMU alone. */
  readonly hostCpu: string | undefined;
  /** Why machines are emulated although the host has /dev/kvm, and what to do about it. */
  readonly kvmWarning: string | undefined;
  /**
   * Whether the kernel must reserve a machine's whole memory at its start, as where it never overcommits. Elsewhere a machine may have more
   * memory than the host.
   */
  readonly reservesMemory: boolean;
  /** An absolute path. */
  readonly binary: string;
  /** As QEMU prints it, e.g. "10.0.2 (Debian 1:10.0.2+ds-2)". */
  readonly versionText: string;
  readonly machineType: string;
  /** A library to preload into QEMU, if any. */
  readonly preloadPath: string | undefined;
}

/**
 * Finds QEMU and the fastest acceleration of this host. Throws an error that
 * says what to install when QEMU is missing or too old.
 */
export async function detectEngine(preloadPath?: string, kvmPath?: string): Promise<QemuEngine> {
  const arch = supportedArch(process.arch);
  const binary = await findProgram(arch === 'arm64' ? 'qemu-system-aarch64' : 'qemu-system-x86_64');
  const output = await runProgram(binary, ['--version'], { deadlineMs: 10_000 }).catch((cause: unknown) => {
    throw new Error(`${binary} does not run. Install QEMU, or run npm start as root to have it installed.`, { cause });
  });
  const [firstLine = ''] = output.split('\n', 1);
  const version = parseQemuVersion(output);
  if (!version || isOlder(version, oldestQemu)) {
    throw new Error(`${binary} must be version 8.2 or newer. Found: ${firstLine}`);
  }
  const machineType = machineTypeFor(arch, version);
  const versionText = firstLine.replace(/^QEMU emulator version /, '');
  const shared = { arch, binary, versionText, machineType, reservesMemory: await neverOvercommits() };
  const kvm = await tryKvm({
    binary,
    machine: machineOptions({ arch, acceleration: 'kvm', machineType }),
    cpuModels: cpuModels(arch, 'kvm'),
    ...(kvmPath !== undefined && { devicePath: kvmPath }),
  });
  if (kvm.kind === 'works') {
    const hostCpu = await readHostCpu();
    return {
      ...shared,
      acceleration: 'kvm',
      cpuModel: kvm.cpuModel,
      hostCpu,
      kvmWarning: undefined,
      preloadPath,
    };
  }
  const kvmWarning = kvm.kind === 'broken' ? kvm.explanation : undefined;
  return emulating({ ...shared, preloadPath }, kvmWarning);
}

/** The engine with emulation. The warning says why KVM is not used although the host has it. */
export function emulating(
  engine: Omit<QemuEngine, 'acceleration' | 'cpuModel' | 'hostCpu' | 'kvmWarning'>,
  kvmWarning: string | undefined,
): QemuEngine {
  const [cpuModel = 'max'] = cpuModels(engine.arch, 'tcg');
  return { ...engine, acceleration: 'tcg', cpuModel, hostCpu: undefined, kvmWarning };
}

/**
 * The models of a guest's CPU, in order of preference. KVM guests have the host's CPU. Emulated guests lack what is slow to emulate: pointer
 * authentication, scalable vectors, and "fast" string instructions, with which kernel and C library would clear memory byte by byte (ten times
 * slower than without). No guest has virtualization extensions or performance counters, which only add ways to attack the
 * host. On arm64, KVM knows the option "pmu" only if the host has performance counters; the extensions are off by default.
 */
export function cpuModels(arch: Arch, acceleration: QemuEngine['acceleration']): readonly string[] {
  if (arch === 'x64')
    return [`${acceleration === 'kvm' ? 'host' : 'max,la57=off,erms=off,fsrm=off'},svm=off,vmx=off,pmu=off`];
  return acceleration === 'kvm' ? ['host,pmu=off', 'host'] : ['max,pauth=off,sve=off,sme=off,pmu=off'];
}

/** The part of -machine that belongs to the kind of machine, not to a single one. */
export function machineOptions({
  arch,
  acceleration,
  machineType,
}: Pick<QemuEngine, 'arch' | 'acceleration' | 'machineType'>): string {
  const interrupts = arch === 'arm64' ? `,gic-version=${acceleration === 'kvm' ? 'host' : '3'}` : '';
  return `${machineType},dump-guest-core=off,usb=off${interrupts}`;
}

/** Tells whether the kernel overcommits memory. QEMU reads it before it maps memory without a reservation. */
export const overcommitPath = '/proc/sys/vm/overcommit_memory';

/** Whether the kernel grants no more memory than it has. QEMU refuses to start a machine without a reservation there. */
async function neverOvercommits(): Promise<boolean> {
  return (await readFile(overcommitPath, 'utf8')).trim() === '2';
}

function supportedArch(arch: string): Arch {
  if (arch === 'arm64' || arch === 'x64') return arch;
  throw new Error(`Unsupported CPU "${arch}": Mayfly runs on arm64 and x86_64.`);
}

/** The part of QEMU's version that a machine type depends on. */
export interface QemuVersion {
  readonly major: number;
  readonly minor: number;
}

/** The oldest QEMU that can restore RAM copy-on-write (read-only memory backend, `file:` migration). */
export const oldestQemu: QemuVersion = { major: 8, minor: 2 };

/** The newest machine type that was tested. A newer QEMU also uses it, so that saved machines still load after an upgrade. */
const newestTested: QemuVersion = { major: 10, minor: 0 };

/** Parses the output of `qemu-system-… --version`; undefined when it has no version. */
export function parseQemuVersion(text: string): QemuVersion | undefined {
  const match = /version (\d+)\.(\d+)/.exec(text);
  return match ? { major: Number(match[1]), minor: Number(match[2]) } : undefined;
}

/** Whether version a is older than version b. */
export function isOlder(a: QemuVersion, b: QemuVersion): boolean {
  return a.major !== b.major ? a.major < b.major : a.minor < b.minor;
}

/** The versioned machine type for a version of QEMU. */
export function machineTypeFor(arch: Arch, version: QemuVersion): string {
  const { major, minor } = isOlder(version, newestTested) ? version : newestTested;
  return `${arch === 'arm64' ? 'virt' : 'pc-q35'}-${major}.${minor}`;
}
