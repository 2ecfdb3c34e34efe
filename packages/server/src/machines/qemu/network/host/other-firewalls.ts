import { z } from 'zod';
import { type Cidr, formatCidr } from '../../../ipv4.ts';
import type { HostProblem } from '../check-support.ts';
import { applyRuleset, runTool } from './kernel-state.ts';

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

/** One nftables chain of the host. */
export interface Chain {
  readonly family: string;
  readonly table: string;
  readonly name: string;
  readonly hook?: string | undefined;
  readonly policy?: string | undefined;
}

export async function listChains(): Promise<Chain[]> {
  return parseChains(await runTool('nft', ['-j', 'list', 'chains']));
}

/** Parses the output of `nft -j list chains`. */
export function parseChains(json: string): Chain[] {
  return chainsSchema.parse(JSON.parse(json)).nftables.flatMap(({ chain }) => (chain ? [chain] : []));
}

/** Whether Mayfly's own table is loaded. */
export function isOwnTableLoaded(chains: readonly Chain[]): boolean {
  return chains.some(({ family, table, name }) => family === 'inet' && table === 'mayfly' && name === 'forward');
}

/** How other firewalls treat forwarded packets. */
export interface OtherFirewalls {
  /** Docker's table drops forwarded packets, and its DOCKER-USER chain accepts exceptions. */
  readonly useDockerUser: boolean;
  readonly problems: readonly HostProblem[];
}

/** Finds chains of others that drop the packets of machines. An accept in Mayfly's table cannot overrule them. */
export function inspectOtherFirewalls(chains: readonly Chain[], range: Cidr): OtherFirewalls {
  const dropping = chains.filter(dropsForwarded);
  const isDockers = ({ family, table }: Chain): boolean => family === 'ip' && table === 'filter';
  const useDockerUser = dropping.some(isDockers) && chains.some((chain) => isDockers(chain) && isDockerUser(chain));
  const block = formatCidr(range);
  const problems = dropping
    .filter((chain) => !(useDockerUser && isDockers(chain)))
    .map(({ family, table, name }) => ({
      what: `The firewall chain "${family} ${table} ${name}" drops forwarded packets, so machines have no network`,
      remedy:
        `allow ${block} in both directions in the tool that manages this chain. With ufw: ` +
        `"ufw route allow from ${block}" and "ufw route allow to ${block}"`,
    }));
  return { useDockerUser, problems };
}

function dropsForwarded({ family, table, hook, policy }: Chain): boolean {
  return (family === 'ip' || family === 'inet') && table !== 'mayfly' && hook === 'forward' && policy === 'drop';
}

function isDockerUser({ name }: Chain): boolean {
  return name === 'DOCKER-USER';
}

/** Docker's documented chain for user rules: https://docs.docker.com/engine/network/packet-filtering-firewalls/ */
const dockerChain = 'ip filter DOCKER-USER';

/** The comment that identifies Mayfly's rules in Docker's chain. */
const ruleComment = 'mayfly';

const rulesSchema = z.object({
  nftables: z.array(z.object({ rule: z.object({ handle: z.number(), comment: z.string().optional() }).optional() })),
});

/** Exempts machines from Docker's drop policy. Does nothing if the rules exist. */
export async function allowInDockerUser(range: Cidr): Promise<void> {
  const handles = await findDockerUserRules();
  const wanted = dockerUserRules(range);
  if (handles.length !== wanted.length) await applyRuleset([...deletions(handles), ...wanted, ''].join('\n'));
}

/** Removes Mayfly's rules from Docker's chain. */
export async function removeFromDockerUser(): Promise<void> {
  const handles = await findDockerUserRules();
  if (handles.length > 0) await applyRuleset([...deletions(handles), ''].join('\n'));
}

/** Uses only expressions that iptables can read. Mayfly's own table does the detailed filtering. */
function dockerUserRules(range: Cidr): string[] {
  const block = formatCidr(range);
  return [
    `insert rule ${dockerChain} iifname "mf*" ip saddr ${block} counter accept comment "${ruleComment}"`,
    `insert rule ${dockerChain} oifname "mf*" ip daddr ${block} counter accept comment "${ruleComment}"`,
  ];
}

async function findDockerUserRules(): Promise<number[]> {
  const json = await runTool('nft', ['-j', '-a', 'list', 'chain', ...dockerChain.split(' ')]).catch(
    () => '{"nftables":[]}',
  );
  const { nftables } = rulesSchema.parse(JSON.parse(json));
  return nftables.flatMap(({ rule }) => (rule?.comment === ruleComment ? [rule.handle] : []));
}

function deletions(handles: readonly number[]): string[] {
  return handles.map((handle) => `delete rule ${dockerChain} handle ${handle}`);
}
