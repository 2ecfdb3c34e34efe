import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** A socket as /proc/PID/net lists it. */
export interface Socket {
  readonly inode: string;
  /** The file that lists it: tcp, udp6, unix, netlink … */
  readonly kind: string;
  /** Whether it waits for connections or datagrams of anybody. */
  readonly listens: boolean;
  /** The local address and port, or the path of a unix socket. Empty when it has none. */
  readonly local: string;
}

const internetKinds = ['tcp', 'tcp6', 'udp', 'udp6', 'udplite', 'udplite6', 'raw', 'raw6', 'icmp', 'icmp6'] as const;
const allKinds = [...internetKinds, 'packet', 'unix', 'netlink'] as const;

/** The state of a TCP socket that listens, and of a UDP or raw socket that has no peer. */
const listening = '0A';
const unconnected = '07';

/** The flag of a unix socket that accepts connections. */
const acceptsConnections = 0x1_0000;

/** Finds the sockets of a network namespace, given as the path of its file, e.g. /proc/PID/ns/net. */
export function socketsIn(namespacePath: string): Socket[] {
  const script = allKinds.map((kind) => `echo "# ${kind}"; cat /proc/self/net/${kind} 2>/dev/null`).join('\n');
  const listed = execFileSync('nsenter', [`--net=${namespacePath}`, 'sh', '-c', script], { encoding: 'utf8' });
  return listed
    .split('# ')
    .slice(1)
    .flatMap((part) => {
      const [kind = '', , ...lines] = part.split('\n');
      return lines.filter((line) => line.trim() !== '').map((line) => parseSocket(kind, line.trim().split(/\s+/)));
    });
}

function parseSocket(kind: string, fields: readonly string[]): Socket {
  switch (kind) {
    case 'unix': {
      const [, , , flags = '0', , , inode = '', local = ''] = fields;
      return { inode, kind, local, listens: (Number.parseInt(flags, 16) & acceptsConnections) !== 0 };
    }
    case 'netlink':
      return { inode: fields[9] ?? '', kind, local: '', listens: false };
    case 'packet':
      return { inode: fields[8] ?? '', kind, local: '', listens: true };
    default: {
      const [, local = '', , state] = fields;
      const listens = state === (kind.startsWith('tcp') ? listening : unconnected);
      return { inode: fields[9] ?? '', kind, local: readableAddress(local), listens };
    }
  }
}

/** Whether data of a network can arrive at a socket. */
export function isNetworkSocket({ kind }: Socket): boolean {
  return kind !== 'unix' && kind !== 'netlink';
}

/** IPv4 addresses are listed as a little-endian number; IPv6 addresses stay as they are. */
function readableAddress(local: string): string {
  const [address = '', port = ''] = local.split(':');
  const parts = address.length === 8 ? address.match(/../g)?.map((part) => Number.parseInt(part, 16)) : undefined;
  return `${parts?.toReversed().join('.') ?? address}:${Number.parseInt(port, 16)}`;
}

/** The inodes of the sockets that a process has open; none if it is gone. */
export function socketInodesOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
      } catch {
        // It was closed meanwhile.
        return [];
      }
    });
  } catch {
    return [];
  }
}

/** The processes of the host that have a socket open, by its inode. */
export function socketHolders(): Map<string, number[]> {
  const holders = new Map<string, number[]>();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    for (const inode of new Set(socketInodesOf(Number(pid)))) {
      holders.set(inode, [...(holders.get(inode) ?? []), Number(pid)]);
    }
  }
  return holders;
}

/** The real user id of a process. */
export function uidOf(pid: number): number {
  return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
