/** A capability that the process with the machine driver needs as root, itself or in the programs that it starts. */
interface HostCapability {
  /** Its bit in the sets of /proc/PID/status. */
  readonly bit: number;
  /** What fails without it. */
  readonly reason: string;
}

/**
 * The capabilities of the driver and of all programs that it starts: shell scripts with ip, tc, nft and conntrack, mayfly-jail,
 * mayfly-net and mayfly-ram. Whatever is not listed is dropped from the bounding set, so none of them can get it back. The resolver and QEMU have none.
 */
export const hostCapabilities: Readonly<Record<string, HostCapability>> = {
  chown: {
    bit: 0,
    reason:
      "gives a machine's disk layers, the memory that is being saved, and /dev/kvm and /dev/net/tun in its jail to the machine's user, and takes a saved layer back",
  },
  dac_override: {
    bit: 1,
    reason:
      'reads /proc/PID/fd of QEMU processes, and reaches a data folder, cache or checkout below folders of other users',
  },
  kill: { bit: 5, reason: 'ends QEMU processes and the resolver, which run under other users' },
  setgid: {
    bit: 6,
    reason: 'the jail and mayfly-ram switch to the group of a machine or of the resolver, without other groups',
  },
  setuid: {
    bit: 7,
    reason:
      "the jail and mayfly-ram switch to the user of a machine; mayfly-net's sockets belong to the resolver's user",
  },
  setpcap: { bit: 8, reason: 'the jail empties the bounding set before it starts QEMU or the resolver' },
  net_bind_service: { bit: 10, reason: "mayfly-net listens on port 53 in the machines' network namespaces" },
  net_admin: {
    bit: 12,
    reason: 'creates links, taps, addresses, routes, shapers and nftables rules, and forgets connections',
  },
  sys_ptrace: {
    bit: 19,
    reason:
      'sees processes of other users where /proc is mounted with hidepid and a gid (without it a running machine would count as dead, and its uid as free), and reads which files the QEMU processes of vanished owners write',
  },
  sys_admin: {
    bit: 21,
    reason: 'creates and enters namespaces, mounts them under /run/netns, and builds the roots of jails',
  },
  sys_resource: { bit: 24, reason: 'protects itself and its helpers from the out-of-memory killer' },
  mknod: { bit: 27, reason: "creates the device nodes of a jail, whatever the modes of the host's nodes" },
};

/** The program and arguments that start a command as root with exactly these capabilities. */
export function withHostCapabilities(command: readonly string[]): ['setpriv', ...string[]] {
  const kept = Object.keys(hostCapabilities).map((name) => `+${name}`);
  return ['setpriv', '--inh-caps=-all', `--bounding-set=${['-all', ...kept].join(',')}`, ...command];
}

/** The set as /proc/PID/status prints it, of a process that was started by one with a bounding set. A container may have fewer than listed. */
export function hostCapabilityMask(boundingSet: string): string {
  const listed = Object.values(hostCapabilities).reduce((bits, { bit }) => bits | (1n << BigInt(bit)), 0n);
  return (listed & BigInt(`0x${boundingSet}`)).toString(16).padStart(16, '0');
}

/** The capability sets of a process by their names in /proc/PID/status. */
export function parseCapabilitySets(status: string): Record<string, string> {
  return Object.fromEntries(
    [...status.matchAll(/^(Cap\w+):\s+(\w+)$/gm)].map(([, name = '', set = '']) => [name, set]),
  );
}
