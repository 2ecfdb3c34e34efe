import { type Cidr, cidr, overlaps } from './ipv4.ts';
import type { Route } from './routes.ts';

/** Where link addresses can come from, the least used by others first. Each holds a pair for every slot; all are refused ranges. */
export const linkRangeCandidates: readonly Cidr[] = [
  '198.19.192.0/19',
  '10.214.192.0/19',
  '100.127.192.0/19',
  '172.31.192.0/19',
  '192.168.192.0/19',
].map(cidr);

/** The first range that no route of the host touches. Fails when all are taken. */
export const chooseLinkRange = (routes: readonly Route[]): Cidr => {
  const taken = routes.map(({ destination }) => destination).filter(({ prefixLength }) => prefixLength > 1);
  const free = linkRangeCandidates.find((range) => !taken.some((route) => overlaps(range, route)));
  if (!free)
    throw new Error('no address range is free for the links to machines: every candidate has a route on this host');
  return free;
};
