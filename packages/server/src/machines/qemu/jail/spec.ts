/** One file or folder of the host that is seen in the jail at the same path. */
export interface Bind {
  readonly path: string;
  /** "exec" is read-only, and programs and libraries in it may be run; nothing is run from the other two. */
  readonly mode: 'ro' | 'rw' | 'exec';
  /** May be missing on the host. */
  readonly optional?: boolean;
}

/** A unix socket that the jail makes, root's alone, and that the program gets as a listening descriptor. */
export interface JailListener {
  readonly path: string;
  /** 3 to 63; QEMU is told it as `-chardev socket,fd=…,server=on,wait=off`. */
  readonly fd: number;
}

/** The document that host/jail takes as its one argument. */
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
  /** Inherited descriptors above 2 that stay open. */
  readonly keepFds: readonly number[];
  readonly program: string;
  readonly argv: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** What differs between the jails of machines. */
export interface JailPlan {
  readonly uid: number;
  readonly gid: number;
  readonly cgroupProcs: readonly string[];
  /** The path of the machine's network namespace; without one it has no network at all. */
  readonly networkNamespace?: string;
  readonly listen?: readonly JailListener[];
  readonly binds: readonly Bind[];
  readonly devices: { readonly kvm: boolean; readonly tun: boolean };
  /** Largest file that QEMU may write, in bytes; SIGXFSZ ends it beyond. */
  readonly maxFileBytes?: number;
  /** Absolute; it is one of the binds. */
  readonly program: string;
  /** Without the program itself. */
  readonly argv: readonly string[];
  /** A library to load into the program; it is one of the binds. */
  readonly preloadPath?: string | undefined;
}

/** How many files QEMU may have open: sockets, disk layers and event descriptors are a few dozen. */
const maxOpenFiles = 1024;

/** The jail of one machine. Folders come before what is bound inside them. */
export const jailSpec = (plan: JailPlan): JailSpec => ({
  uid: plan.uid,
  gid: plan.gid,
  cgroupProcs: plan.cgroupProcs,
  network: plan.networkNamespace ?? 'none',
  listen: plan.listen ?? [],
  binds: plan.binds.toSorted((a, b) => a.path.split('/').length - b.path.split('/').length),
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
  keepFds: [],
  program: plan.program,
  argv: plan.argv,
  env: plan.preloadPath === undefined ? {} : { LD_PRELOAD: plan.preloadPath },
});
