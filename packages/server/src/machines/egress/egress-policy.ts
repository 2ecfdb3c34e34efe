import { createHash } from 'node:crypto';
import { domainToASCII } from 'node:url';
import type { EgressPolicy } from '../../core/ports/machine-driver.ts';
import { type Cidr, parseCidr, withoutNested } from '../ipv4.ts';

/** An egress policy in the form that the nftables rules and the resolver use. */
export interface CompiledEgress {
  readonly mode: 'all' | 'none' | 'list';
  readonly blocks: readonly Cidr[];
  /** Lower-case ASCII without a trailing dot. A leading "*." matches every name below. */
  readonly names: readonly string[];
  /** The connection mark of this list: equal for equal lists, never 0. Accepted connections carry it. */
  readonly mark: number;
}

/** An allow-list entry is not valid. The message names the entry. */
export class InvalidEgress extends Error {
  override readonly name = 'InvalidEgress';
}

const maxAllowEntries = 1000;
const namePattern = /^(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** Compiles a policy. Throws InvalidEgress if an entry is neither IPv4 nor a domain name. */
export function compileEgress(policy: EgressPolicy): CompiledEgress {
  if (policy === 'all' || policy === 'none') return { mode: policy, blocks: [], names: [], mark: 1 };
  if (policy.allow.length > maxAllowEntries) {
    throw new InvalidEgress(`An allow-list can have at most ${maxAllowEntries} entries.`);
  }
  const blocks: Cidr[] = [];
  const names = new Set<string>();
  for (const entry of policy.allow) {
    const block = parseCidr(entry);
    if (block) blocks.push(block);
    else names.add(compileName(entry));
  }
  const merged = withoutNested(blocks);
  const sortedNames = [...names].sort();
  const mark = markOf([...merged.map(({ base, prefixLength }) => `${base}/${prefixLength}`), ...sortedNames]);
  return { mode: 'list', blocks: merged, names: sortedNames, mark };
}

function compileName(entry: string): string {
  const wildcard = entry.startsWith('*.') ? '*.' : '';
  const name = wildcard + domainToASCII(entry.slice(wildcard.length).replace(/\.$/, ''));
  const isNumeric = /^[\d.]+$/.test(name);
  if (name.length > 253 || isNumeric || !namePattern.test(name)) {
    throw new InvalidEgress(`${JSON.stringify(entry)} is not an IPv4 address, CIDR block or domain name.`);
  }
  return name;
}

function markOf(parts: readonly string[]): number {
  return (createHash('sha256').update(parts.join('\n')).digest().readUInt32BE(0) >>> 1) + 1;
}
