import { readFile } from 'node:fs/promises';
import { type Cidr, formatCidr } from '../plan/ipv4.ts';
import { run } from './command.ts';
import type { Problem } from './problem.ts';

/** Finds a drop policy in the tables of iptables-legacy, which nft does not show. */
export const findLegacyDrop = async (range: Cidr): Promise<Problem[]> => {
  const tables = await readFile('/proc/net/ip_tables_names', 'utf8').catch(() => '');
  if (!tables.split('\n').includes('filter')) return [];
  const rules = await run('iptables-legacy', ['-S']).catch(() => '');
  if (!rules.includes('-P FORWARD DROP')) return [];
  const chain = rules.includes('-N DOCKER-USER') ? 'DOCKER-USER' : 'FORWARD';
  const block = formatCidr(range);
  return [
    {
      what: 'iptables-legacy drops forwarded packets (policy of FORWARD), so machines have no network',
      remedy: `iptables-legacy -I ${chain} -s ${block} -j ACCEPT; iptables-legacy -I ${chain} -d ${block} -j ACCEPT`,
    },
  ];
};
