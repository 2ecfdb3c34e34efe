import { z } from 'zod';
import { type Cidr, formatCidr } from '../plan/ipv4.ts';
import { run } from './command.ts';

/** Docker's documented chain for rules of others: https://docs.docker.com/engine/network/packet-filtering-firewalls/ */
const chain = 'ip filter DOCKER-USER';

/** The comment by which our rules are known. */
const comment = 'mayfly';

const rulesSchema = z.object({
  nftables: z.array(z.object({ rule: z.object({ handle: z.number(), comment: z.string().optional() }).optional() })),
});

/** Only expressions that iptables writes too, so that it can still read its table. Our own table decides the rest. */
const wantedRules = (range: Cidr): string[] => [
  `insert rule ${chain} iifname "mf*" ip saddr ${formatCidr(range)} counter accept comment "${comment}"`,
  `insert rule ${chain} oifname "mf*" ip daddr ${formatCidr(range)} counter accept comment "${comment}"`,
];

const findOurs = async (): Promise<number[]> => {
  const json = await run('nft', ['-j', '-a', 'list', 'chain', ...chain.split(' ')]).catch(() => '{"nftables":[]}');
  const { nftables } = rulesSchema.parse(JSON.parse(json));
  return nftables.flatMap(({ rule }) => (rule?.comment === comment ? [rule.handle] : []));
};

const deleteRules = (handles: readonly number[]): string[] =>
  handles.map((handle) => `delete rule ${chain} handle ${handle}`);

/** Lets machines through Docker's drop policy. Does nothing when it is so already. */
export const allowInDockerUser = async (range: Cidr): Promise<void> => {
  const ours = await findOurs();
  const wanted = wantedRules(range);
  if (ours.length === wanted.length) return;
  await run('nft', ['-f', '-'], [...deleteRules(ours), ...wanted, ''].join('\n'));
};

/** Removes our rules from Docker's chain. */
export const leaveDockerUser = async (): Promise<void> => {
  const ours = await findOurs();
  if (ours.length > 0) await run('nft', ['-f', '-'], [...deleteRules(ours), ''].join('\n'));
};
