/** A program or file the host must have, and the Debian package that installs it. */
export interface RequiredTool {
  /** The command, or an absolute path for a plain file. */
  readonly name: string;
  readonly debianPackage: string;
  readonly minimumVersion?: string;
  /** Distributions without such a package; what needs the tool is skipped there. */
  readonly notOn?: readonly string[];
}

/** What the host is set up for. The tests need everything that the service needs. */
export type Purpose = 'service' | 'tests';

/** What was found on the host, without judging it. */
export interface HostFacts {
  /** process.platform, e.g. "linux". */
  readonly platform: string;
  /** process.arch, e.g. "arm64". */
  readonly arch: string;
  readonly isRoot: boolean;
  readonly memory: HostMemory;
  /** Free bytes on the file system of the cache folder. */
  readonly cacheFreeBytes: number;
  readonly distribution: Distribution;
  /** Whether Debian packages can be installed at all. */
  readonly hasApt: boolean;
  /** The tools found, by the name of the required tool. */
  readonly tools: ReadonlyMap<string, FoundTool>;
  /** The archives in apt's configuration; empty without apt. */
  readonly archives: readonly AptArchive[];
}

export interface HostMemory {
  readonly totalBytes: number;
  readonly availableBytes: number;
}

export interface Distribution {
  /** ID of os-release, e.g. "debian"; empty when unknown. */
  readonly id: string;
  /** VERSION_CODENAME of os-release, e.g. "bookworm"; empty when unknown. */
  readonly codename: string;
  /** PRETTY_NAME of os-release. */
  readonly name: string;
}

export interface FoundTool {
  readonly path: string;
  /** Only for tools with a minimum version; undefined when it could not be read. */
  readonly version?: string | undefined;
}

/** One suite of one archive in apt's configuration. */
export interface AptArchive {
  /** e.g. "bookworm-security". */
  readonly suite: string;
  /** Without "dists/…" and without a trailing slash. */
  readonly uri: string;
}

/** The oldest QEMU that restores a template from a file it cannot write to. */
export const minimumQemuVersion = '8.2';

/** The keyring that Debian 13's archive is verified with. */
export const debianKeyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** The package of the database server that the store is tested with. Operators install their own server. */
export const postgresPackage = 'postgresql';

const testTools: readonly RequiredTool[] = [
  { name: 'postgres', debianPackage: postgresPackage },
  // Ubuntu ships browsers only as snaps.
  { name: 'chromium', debianPackage: 'chromium', notOn: ['ubuntu'] },
  { name: 'certutil', debianPackage: 'libnss3-tools' },
  // The commands in the documentation use them.
  { name: 'curl', debianPackage: 'curl' },
  { name: 'jq', debianPackage: 'jq' },
  // The command line is tested on a terminal that a Python program opens.
  { name: 'python3', debianPackage: 'python3' },
  // So is its completion in these shells.
  { name: 'zsh', debianPackage: 'zsh' },
  { name: 'fish', debianPackage: 'fish' },
];

/** Everything the host must have for a purpose. */
export function requiredTools(arch: string, purpose: Purpose): readonly RequiredTool[] {
  return purpose === 'tests' ? [...serviceTools(arch), ...testTools] : serviceTools(arch);
}

function serviceTools(arch: string): readonly RequiredTool[] {
  const isArm = arch === 'arm64';
  return [
    {
      name: isArm ? 'qemu-system-aarch64' : 'qemu-system-x86_64',
      debianPackage: isArm ? 'qemu-system-arm' : 'qemu-system-x86',
      minimumVersion: minimumQemuVersion,
    },
    { name: 'qemu-img', debianPackage: 'qemu-utils', minimumVersion: minimumQemuVersion },
    { name: 'mmdebstrap', debianPackage: 'mmdebstrap' },
    { name: debianKeyring, debianPackage: 'debian-archive-keyring' },
    { name: 'mke2fs', debianPackage: 'e2fsprogs' },
    { name: 'xz', debianPackage: 'xz-utils' },
    { name: 'ip', debianPackage: 'iproute2' },
    { name: 'nft', debianPackage: 'nftables' },
    { name: 'conntrack', debianPackage: 'conntrack' },
    { name: 'setpriv', debianPackage: 'util-linux' },
    { name: 'useradd', debianPackage: 'passwd' },
  ];
}

/** What this host lacks for a purpose, among the tools its distribution has a package for. */
export function missingFor(
  { arch, tools, distribution }: Pick<HostFacts, 'arch' | 'tools' | 'distribution'>,
  purpose: Purpose,
): readonly RequiredTool[] {
  return missingTools(requiredTools(arch, purpose), tools).filter(({ notOn }) => !notOn?.includes(distribution.id));
}

/** The tools that are absent or too old. */
export function missingTools(
  required: readonly RequiredTool[],
  found: ReadonlyMap<string, FoundTool>,
): readonly RequiredTool[] {
  return required.filter(({ name, minimumVersion }) => {
    const tool = found.get(name);
    if (!tool) return true;
    return minimumVersion !== undefined && !(tool.version !== undefined && isAtLeast(tool.version, minimumVersion));
  });
}

/** The first dotted number in a text, e.g. "10.0.2" in "QEMU emulator version 10.0.2 (Debian …)". */
export function findVersion(text: string): string | undefined {
  return /\d+(?:\.\d+)+/.exec(text)?.[0];
}

/** Whether a dotted version is the same as or newer than another. */
export function isAtLeast(version: string, minimum: string): boolean {
  const actual = version.split('.').map(Number);
  for (const [index, wanted] of minimum.split('.').map(Number).entries()) {
    const part = actual[index] ?? 0;
    if (part !== wanted) return part > wanted;
  }
  return true;
}
