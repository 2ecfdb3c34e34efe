import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { findProgram, runProgram } from '../host/run-program.ts';

/** A CPU architecture that Mayfly supports. Host and guest always have the same. */
export type Arch = 'arm64' | 'x64';

/** The properties of this host's QEMU that define a machine, and so belong to a template's key. */
export interface QemuEngine {
  readonly arch: Arch;
  readonly acceleration: 'kvm' | 'tcg';
  /** An absolute path. */
  readonly binary: string;
  /** As QEMU prints it, e.g. "10.0.2 (Debian 1:10.0.2+ds-2)". */
  readonly versionText: string;
  readonly machineType: string;
  /** A library to preload into QEMU, if any. */
  readonly preloadPath: string | undefined;
}

/**
 * Finds QEMU and the fastest acceleration of this host. The library is preloaded only where QEMU emulates the CPU. Throws an error that
 * says what to install when QEMU is missing or too old.
 */
export async function detectEngine(preloadPath?: string, arch: string = process.arch): Promise<QemuEngine> {
  if (arch !== 'arm64' && arch !== 'x64')
    throw new Error(`Unsupported CPU "${arch}": Mayfly runs on arm64 and x86_64.`);
  const binary = await findProgram(arch === 'arm64' ? 'qemu-system-aarch64' : 'qemu-system-x86_64');
  const output = await runProgram(binary, ['--version'], { deadlineMs: 10_000 }).catch((cause: unknown) => {
    throw new Error(`${binary} does not run. Install QEMU, or run npm start as root to have it installed.`, { cause });
  });
  const [firstLine = ''] = output.split('\n', 1);
  const version = parseQemuVersion(output);
  if (!version || isOlder(version, oldestQemu)) {
    throw new Error(`${binary} must be version 8.2 or newer. Found: ${firstLine}`);
  }
  const acceleration = (await isUsable('/dev/kvm')) ? 'kvm' : 'tcg';
  return {
    arch,
    acceleration,
    binary,
    versionText: firstLine.replace(/^QEMU emulator version /, ''),
    machineType: machineTypeFor(arch, version),
    preloadPath: acceleration === 'tcg' ? preloadPath : undefined,
  };
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

async function isUsable(path: string): Promise<boolean> {
  try {
    await access(path, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
