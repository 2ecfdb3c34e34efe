import type { Arch } from '../engine.ts';

/** A file or folder of the host that is visible in the jail at the same path. */
export interface Bind {
  readonly path: string;
  /** "exec" is read-only and lets programs and libraries run; from the other two nothing can be run. */
  readonly mode: 'ro' | 'rw' | 'exec';
  /** Skipped when the host does not have it. */
  readonly optional?: boolean;
}

/** A unix socket that the jail opens, accessible to root alone. The program inherits it as a listening descriptor. */
interface JailListener {
  readonly path: string;
  /** 3 to 63; QEMU uses it as `-chardev socket,fd=…,server=on,wait=off`. */
  readonly fd: number;
}

/** The JSON document that native/jail takes as its argument. */
export interface JailSpec {
  readonly uid: number;
  readonly gid: number;
  readonly cgroupProcs: readonly string[];
  /** "none" (an empty namespace), "host", or the path of a network namespace. */
  readonly network: string;
  readonly listen: readonly JailListener[];
  readonly binds: readonly Bind[];
  /** Names under /dev. */
  readonly devices: readonly string[];
  /** Soft and hard limit in one. */
  readonly rlimits: Readonly<Record<string, number>>;
  /** Which system calls the program may make: the list for QEMU in native/seccomp. */
  readonly filter: 'qemu';
  readonly program: string;
  readonly argv: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** The properties in which the jails of machines differ. */
export interface JailPlan {
  readonly uid: number;
  readonly gid: number;
  readonly cgroupProcs: readonly string[];
  /** The path of the machine's network namespace; without it the machine has no network. */
  readonly networkNamespace?: string;
  readonly listen?: readonly JailListener[];
  readonly binds: readonly Bind[];
  readonly devices: { readonly kvm: boolean; readonly tun: boolean };
  /** The largest file that QEMU may write, in bytes. Beyond it, writes fail, which the guest sees as an I/O error. */
  readonly maxFileBytes?: number;
  /** An absolute path; also one of the binds. */
  readonly program: string;
  /** Without the program itself. */
  readonly argv: readonly string[];
  /** A library to preload into the program; also one of the binds. */
  readonly preloadPath?: string | undefined;
  /** The template's RAM file, for the preloaded library. */
  readonly ramPath?: string;
  /** Says which part of memory is in which layer, for the preloaded library. Without it, memory is the RAM file. */
  readonly ramPlanPath?: string;
  /** The files of the plan's layers from layer 1; layer 0 is the RAM file. Their paths have no colons. */
  readonly ramLayerPaths?: readonly string[];
}

/** QEMU needs a few dozen descriptors: sockets, disk layers and event descriptors. */
const maxOpenFiles = 1024;

/** The jail of one machine. A folder is bound before anything inside it. */
export function jailSpec(plan: JailPlan): JailSpec {
  return {
    uid: plan.uid,
    gid: plan.gid,
    cgroupProcs: plan.cgroupProcs,
    network: plan.networkNamespace ?? 'none',
    listen: plan.listen ?? [],
    binds: outerFirst(plan.binds),
    devices: [
      ...['null', 'zero', 'random', 'urandom'],
      ...(plan.devices.kvm ? ['kvm'] : []),
      ...(plan.devices.tun ? ['net/tun'] : []),
    ],
    rlimits: {
      core: 0,
      memlock: 0,
      nofile: maxOpenFiles,
      ...(plan.maxFileBytes === undefined ? {} : { fsize: plan.maxFileBytes }),
    },
    filter: 'qemu',
    program: plan.program,
    argv: plan.argv,
    env: plan.preloadPath === undefined ? {} : preloadEnv(plan.preloadPath, plan),
  };
}

/** The binds in the order in which they can be mounted: a folder before anything inside it. */
export function outerFirst(binds: readonly Bind[]): Bind[] {
  return binds.toSorted((a, b) => a.path.split('/').length - b.path.split('/').length);
}

/** How the preloaded library is told where the machine's memory is. */
function preloadEnv(
  preloadPath: string,
  { ramPath, ramPlanPath, ramLayerPaths = [] }: Pick<JailPlan, 'ramPath' | 'ramPlanPath' | 'ramLayerPaths'>,
): Record<string, string> {
  const ambiguous = ramLayerPaths.find((path) => path.includes(':'));
  if (ambiguous !== undefined) {
    throw new Error(`The path ${ambiguous} contains a colon. Choose a MAYFLY_DATA_DIR without one.`);
  }
  return {
    LD_PRELOAD: preloadPath,
    ...(ramPath === undefined ? {} : { MAYFLY_RAM_FILE: ramPath }),
    ...(ramPlanPath === undefined ? {} : { MAYFLY_RAM_PLAN: ramPlanPath }),
    ...(ramLayerPaths.length === 0 ? {} : { MAYFLY_RAM_LAYERS: ramLayerPaths.join(':') }),
  };
}

/** The files that the QEMU of one machine needs. */
export interface QemuFiles {
  readonly arch: Arch;
  /** The absolute path of QEMU. */
  readonly program: string;
  /** A library to preload into QEMU, if any. */
  readonly preloadPath?: string | undefined;
  /** Files of templates and images: RAM, device state, disk layers. */
  readonly readOnly: readonly string[];
  /** The machine's folder or single files. What QEMU may do with them depends on the permissions of its uid. */
  readonly writable: readonly string[];
}

/** Shared libraries and the dynamic loader: Debian's folder for the architecture, and /usr/lib64 of other distributions. */
const libraries: Readonly<Record<Arch, readonly string[]>> = {
  arm64: ['/usr/lib/aarch64-linux-gnu', '/usr/lib/ld-linux-aarch64.so.1', '/usr/lib64'],
  x64: ['/usr/lib/x86_64-linux-gnu', '/usr/lib64'],
};

/** What every dynamically linked program of the host needs. */
export function libraryBinds(arch: Arch): Bind[] {
  return [
    ...libraries[arch].map((path): Bind => ({ path, mode: 'exec', optional: true })),
    { path: '/etc/ld.so.cache', mode: 'ro', optional: true },
  ];
}

/** QEMU's own data, the BIOS of x86 machines, and the option ROMs of network cards. */
const firmware = ['/usr/share/qemu', '/usr/share/seabios', '/usr/lib/ipxe/qemu'];

/** Everything of the host that the QEMU of one machine can see. */
export function qemuBinds({ arch, program, preloadPath, readOnly, writable }: QemuFiles): Bind[] {
  return [
    { path: program, mode: 'exec' },
    ...(preloadPath === undefined ? [] : [{ path: preloadPath, mode: 'exec' } as const]),
    ...libraryBinds(arch),
    ...firmware.map((path): Bind => ({ path, mode: 'ro', optional: true })),
    ...readOnly.map((path): Bind => ({ path, mode: 'ro' })),
    ...writable.map((path): Bind => ({ path, mode: 'rw' })),
  ];
}
