import type { FoundTool, HostFacts } from './facts.ts';
import { isAtLeast } from './version.ts';

/** Something the host must have, and the Debian package that brings it. */
export interface RequiredTool {
  /** The command, or an absolute path for a plain file. */
  readonly name: string;
  readonly debianPackage: string;
  /** Lowest version that will do. */
  readonly minimumVersion?: string;
  /** Distributions without such a package; what needs the tool is left out there. */
  readonly notOn?: readonly string[];
}

/** Lowest QEMU that restores a template without being able to write to it. */
export const minimumQemuVersion = '8.2';

/** The keyring Debian 13's archive is checked with. */
export const debianKeyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** The command of QEMU for machines of the host's own kind. */
export function qemuCommand(arch: string): string {
  return arch === 'arm64' ? 'qemu-system-aarch64' : 'qemu-system-x86_64';
}

/** What the host is set up for; the tests need all that the service needs. */
export type Purpose = 'service' | 'tests';

/** The package of the server that the store is tested with; where an operator's server is used, it is theirs to install. */
export const postgresPackage = 'postgresql';

const testTools: readonly RequiredTool[] = [
  { name: 'postgres', debianPackage: postgresPackage },
  // Ubuntu has browsers only as snaps.
  { name: 'chromium', debianPackage: 'chromium', notOn: ['ubuntu'] },
  { name: 'certutil', debianPackage: 'libnss3-tools' },
];

/** All that is needed of the host. */
export function requiredTools(arch: string, purpose: Purpose): readonly RequiredTool[] {
  return purpose === 'tests' ? [...serviceTools(arch), ...testTools] : serviceTools(arch);
}

/** All that set-up and the service need of the host. */
function serviceTools(arch: string): readonly RequiredTool[] {
  const minimumVersion = minimumQemuVersion;
  return [
    {
      name: qemuCommand(arch),
      debianPackage: arch === 'arm64' ? 'qemu-system-arm' : 'qemu-system-x86',
      minimumVersion,
    },
    { name: 'qemu-img', debianPackage: 'qemu-utils', minimumVersion },
    { name: 'mmdebstrap', debianPackage: 'mmdebstrap' },
    { name: debianKeyring, debianPackage: 'debian-archive-keyring' },
    { name: 'mke2fs', debianPackage: 'e2fsprogs' },
    { name: 'xz', debianPackage: 'xz-utils' },
    { name: 'ip', debianPackage: 'iproute2' },
    { name: 'nft', debianPackage: 'nftables' },
    { name: 'setpriv', debianPackage: 'util-linux' },
  ];
}

/** What this host lacks for a purpose, of what it can be given. */
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
