import { z } from 'zod';
import { type Cidr, formatCidr } from '../plan/ipv4.ts';
import type { Problem } from './problem.ts';

const chainsSchema = z.object({
  nftables: z.array(
    z.object({
      chain: z
        .object({
          family: z.string(),
          table: z.string(),
          name: z.string(),
          hook: z.string().optional(),
          policy: z.string().optional(),
        })
        .optional(),
    }),
  ),
});

/** One chain of the host's nftables. */
export interface Chain {
  readonly family: string;
  readonly table: string;
  readonly name: string;
  readonly hook?: string | undefined;
  readonly policy?: string | undefined;
}

/** The chains in what `nft -j list chains` prints. */
export const parseChains = (json: string): Chain[] =>
  chainsSchema.parse(JSON.parse(json)).nftables.flatMap(({ chain }) => (chain ? [chain] : []));

/** Whether Mayfly's own table is loaded. */
export const isOwnTableLoaded = (chains: readonly Chain[]): boolean =>
  chains.some(({ family, table, name }) => family === 'inet' && table === 'mayfly' && name === 'forward');

const dropsForwarded = ({ family, table, hook, policy }: Chain): boolean =>
  (family === 'ip' || family === 'inet') && table !== 'mayfly' && hook === 'forward' && policy === 'drop';

const isDockerUser = ({ family, table, name }: Chain): boolean =>
  family === 'ip' && table === 'filter' && name === 'DOCKER-USER';

/** What to do about firewalls of others that drop forwarded packets. */
export interface ForeignFirewall {
  /** Docker dropped the rest and offers its chain for exceptions. */
  readonly useDockerUser: boolean;
  readonly problems: readonly Problem[];
}

/** Looks for chains of others that drop what machines send. An accept of ours cannot overrule them. */
export const judgeForeignFirewall = (chains: readonly Chain[], range: Cidr): ForeignFirewall => {
  const dropping = chains.filter(dropsForwarded);
  const isDockers = ({ family, table }: Chain): boolean => family === 'ip' && table === 'filter';
  const useDockerUser = dropping.some(isDockers) && chains.some(isDockerUser);
  const problems = dropping
    .filter((chain) => !(useDockerUser && isDockers(chain)))
    .map(({ family, table, name }) => ({
      what: `the firewall chain "${family} ${table} ${name}" drops forwarded packets, so machines have no network`,
      remedy:
        `allow ${formatCidr(range)} in the tool that owns it, both ways; with ufw: "ufw route allow from ${formatCidr(range)}" ` +
        `and "ufw route allow to ${formatCidr(range)}"`,
    }));
  return { useDockerUser, problems };
};
