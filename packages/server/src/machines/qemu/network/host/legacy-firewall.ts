import { readFile } from 'node:fs/promises';
import type { HostProblem } from '../check-support.ts';
import { runTool } from './kernel-state.ts';

/**
 * Returns the drop policy for forwarded packets in the tables of iptables-legacy, which nft does not list; undefined if there is none. iptables-legacy
 * lists its rules through a raw socket, so only set-up asks: the host process may not open one.
 */
export async function findLegacyDrop(): Promise<HostProblem | undefined> {
  const tables = await readFile('/proc/net/ip_tables_names', 'utf8').catch(() => '');
  if (!tables.split('\n').includes('filter')) return undefined;
  return legacyDropIn(await runTool('iptables-legacy', ['-S']).catch(() => ''));
}

/** The same, from the output of `iptables-legacy -S`. */
export function legacyDropIn(rules: string): HostProblem | undefined {
  if (!rules.includes('-P FORWARD DROP')) return undefined;
  const chain = rules.includes('-N DOCKER-USER') ? 'DOCKER-USER' : 'FORWARD';
  return {
    what: 'iptables-legacy drops forwarded packets (policy of FORWARD), so machines have no network',
    remedy: `iptables-legacy -I ${chain} -i mf+ -j ACCEPT; iptables-legacy -I ${chain} -o mf+ -j ACCEPT`,
  };
}
