import { BlockList, isIP } from 'node:net';

/** Whose X-Forwarded-For is believed: everybody's, nobody's, or that of a list of addresses and ranges. */
export function trustedProxies(setting: boolean | string): (address: string) => boolean {
  if (typeof setting === 'boolean') return () => setting;
  const list = new BlockList();
  for (const entry of setting.split(',')) {
    const [address = '', prefix] = entry.split('/', 2);
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return (address) => isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}
