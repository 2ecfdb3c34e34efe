import { BlockList, isIP } from 'node:net';

/** Whether the proxy at this address is trusted; `hop` is 0 for the peer of the connection. */
export type TrustsProxy = (address: string, hop: number) => boolean;

/**
 * Which proxies' X-Forwarded-For is trusted: none, the peer's (`true`), or that from these comma-separated addresses and ranges. `true` trusts
 * one proxy, not a chain: everything further away is written by the client.
 */
export function trustedProxies(setting: boolean | string): TrustsProxy {
  if (setting === false) return () => false;
  if (setting === true) return (_address, hop) => hop === 0;
  const trusted = new BlockList();
  for (const entry of setting.split(',')) {
    const [address = '', bits] = entry.trim().split('/');
    if (bits === undefined) trusted.addAddress(address, familyOf(address));
    else trusted.addSubnet(address, Number(bits), familyOf(address));
  }
  return (address) => isIP(address) !== 0 && trusted.check(address, familyOf(address));
}

/**
 * The addresses that a request came through, nearest first: the peer, then each hop that a trusted proxy reports. The last one is the
 * source of the request. What is not an address ends the chain, so that no invented text counts as a source.
 */
export function forwardingChain(
  peer: string,
  forwardedFor: string | readonly string[] | undefined,
  trusts: TrustsProxy,
): readonly string[] {
  let nearest = plainAddress(peer) ?? '';
  const chain = [nearest];
  const reported = String(forwardedFor ?? '').split(',');
  while (reported.length > 0 && trusts(nearest, chain.length - 1)) {
    const next = plainAddress(reported.pop() ?? '');
    if (next === undefined) break;
    chain.push(next);
    nearest = next;
  }
  return chain;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

const withPort = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d{1,5})?$/;

/** An address without the port that some proxies add, and an IPv4 address without its IPv6 prefix; undefined if it is none. */
function plainAddress(text: string): string | undefined {
  const [, bracketed, dotted] = withPort.exec(text.trim()) ?? [];
  const address = (bracketed ?? dotted ?? text.trim()).replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(address) === 0 ? undefined : address;
}
