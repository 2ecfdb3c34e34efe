import type { Arch } from '../host/machine-type.ts';
import type { Bind } from './spec.ts';

/** What one machine's QEMU needs to see. */
export interface QemuFiles {
  readonly arch: Arch;
  /** QEMU itself; absolute. */
  readonly program: string;
  /** A library to load into QEMU, if any. */
  readonly preloadPath?: string | undefined;
  /** Template and image files: RAM, device state, disk layers. */
  readonly readOnly: readonly string[];
  /** The machine's own: its folder, or single files. Rights in it are those of its uid. */
  readonly writable: readonly string[];
}

/** Where shared libraries and their loader are: Debian's folder of the architecture, or /usr/lib64 elsewhere. */
const libraries: Readonly<Record<Arch, readonly string[]>> = {
  arm64: ['/usr/lib/aarch64-linux-gnu', '/usr/lib/ld-linux-aarch64.so.1', '/usr/lib64'],
  x64: ['/usr/lib/x86_64-linux-gnu', '/usr/lib64'],
};

/** QEMU's own data, the BIOS of x86 machines, and the option ROMs of network cards. */
const firmware = ['/usr/share/qemu', '/usr/share/seabios', '/usr/lib/ipxe/qemu'];

/** All that the QEMU of one machine sees of the host. */
export const qemuBinds = ({ arch, program, preloadPath, readOnly, writable }: QemuFiles): Bind[] => [
  { path: program, mode: 'exec' },
  ...(preloadPath === undefined ? [] : [{ path: preloadPath, mode: 'exec' } as const]),
  ...libraries[arch].map((path): Bind => ({ path, mode: 'exec', optional: true })),
  { path: '/etc/ld.so.cache', mode: 'ro', optional: true },
  ...firmware.map((path): Bind => ({ path, mode: 'ro', optional: true })),
  ...readOnly.map((path): Bind => ({ path, mode: 'ro' })),
  ...writable.map((path): Bind => ({ path, mode: 'rw' })),
];
