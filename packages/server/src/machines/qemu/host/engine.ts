import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { promisify } from 'node:util';
import { findProgram } from '../jail/program-path.ts';
import { type Arch, isOlder, machineTypeFor, oldestQemu, parseQemuVersion } from './machine-type.ts';

/** The engine of this host: everything about QEMU that goes into a machine and so into a template's key. */
export interface QemuEngine {
  readonly arch: Arch;
  readonly acceleration: 'kvm' | 'tcg';
  /** Absolute. */
  readonly binary: string;
  /** As QEMU prints it, e.g. "10.0.2 (Debian 1:10.0.2+ds-2)". */
  readonly versionText: string;
  readonly machineType: string;
  /** Library to preload into QEMU, if any. */
  readonly preloadPath: string | undefined;
}

const canUse = async (path: string): Promise<boolean> => {
  try {
    await access(path, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
};

/**
 * Finds QEMU and the fastest way to run it here. The library is preloaded only where QEMU emulates. Fails with
 * what to install when there is no QEMU, or it is too old.
 */
export const detectEngine = async (preloadPath?: string, arch: string = process.arch): Promise<QemuEngine> => {
  if (arch !== 'arm64' && arch !== 'x64') throw new Error(`unsupported CPU "${arch}": Mayfly runs on arm64 and x86_64`);
  const binary = await findProgram(arch === 'arm64' ? 'qemu-system-aarch64' : 'qemu-system-x86_64');
  const { stdout } = await promisify(execFile)(binary, ['--version'], { timeout: 10_000 }).catch((cause: unknown) => {
    throw new Error(`${binary} does not run: install QEMU (npm start does that as root)`, { cause });
  });
  const version = parseQemuVersion(stdout);
  if (!version || isOlder(version, oldestQemu)) {
    throw new Error(`${binary} must be 8.2 or newer; found: ${stdout.split('\n', 1)[0]}`);
  }
  const acceleration = (await canUse('/dev/kvm')) ? 'kvm' : 'tcg';
  return {
    arch,
    acceleration,
    binary,
    versionText: stdout.split('\n', 1)[0]?.replace(/^QEMU emulator version /, '') ?? '',
    machineType: machineTypeFor(arch, version),
    preloadPath: acceleration === 'tcg' ? preloadPath : undefined,
  };
};
