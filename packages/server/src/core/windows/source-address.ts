import { isIPv6 } from 'node:net';

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** Whom a source address is counted as: an IPv4 address as it is, an IPv6 address as its /64, which is one customer's. */
export function sourceKey(address: string): string {
  if (!address.includes(':')) return address;
  const ipv4 = mapped.exec(address)?.[1];
  if (ipv4 !== undefined) return ipv4;
  const bare = address.split('%', 1)[0] ?? '';
  return isIPv6(bare) ? prefix64(bare) : address;
}

function prefix64(address: string): string {
  const [head = '', tail] = address.toLowerCase().split('::', 2);
  const before = head === '' ? [] : head.split(':');
  if (tail === undefined) return normalise(before.slice(0, 4));
  const after = tail === '' ? [] : tail.split(':');
  const width = after.at(-1)?.includes('.') ? after.length + 1 : after.length;
  const zeros = Array.from({ length: Math.max(8 - before.length - width, 0) }, () => '0');
  return normalise([...before, ...zeros, ...after].slice(0, 4));
}

function normalise(groups: readonly string[]): string {
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}
