/** A QEMU version as far as machine types care. */
export interface QemuVersion {
  readonly major: number;
  readonly minor: number;
}

/** The oldest QEMU whose copy-on-write RAM restore works (read-only memory backend, `file:` migration). */
export const oldestQemu: QemuVersion = { major: 8, minor: 2 };

/** The newest machine type that was tried; a newer QEMU is asked for this one, so that saved machines still load after an upgrade. */
const newestTried: QemuVersion = { major: 10, minor: 0 };

/** Reads `qemu-system-… --version`; undefined when that is not what QEMU prints. */
export const parseQemuVersion = (text: string): QemuVersion | undefined => {
  const match = /version (\d+)\.(\d+)/.exec(text);
  return match ? { major: Number(match[1]), minor: Number(match[2]) } : undefined;
};

/** True when a is older than b. */
export const isOlder = (a: QemuVersion, b: QemuVersion): boolean =>
  a.major !== b.major ? a.major < b.major : a.minor < b.minor;

/** The versioned machine type for a host's QEMU. */
export const machineTypeFor = (arch: Arch, version: QemuVersion): string => {
  const { major, minor } = isOlder(version, newestTried) ? version : newestTried;
  return `${arch === 'arm64' ? 'virt' : 'pc-q35'}-${major}.${minor}`;
};

/** CPU architectures that Mayfly runs on; host and guest are always the same. */
export type Arch = 'arm64' | 'x64';
