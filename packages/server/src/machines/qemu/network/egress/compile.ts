import { createHash } from 'node:crypto';
import { domainToASCII } from 'node:url';
import { type Cidr, parseCidr, withoutNested } from '../plan/ipv4.ts';
import { type EgressPolicy, InvalidEgress, maxAllowEntries } from './policy.ts';

/** A policy as rules and resolver take it. */
export interface CompiledEgress {
  readonly mode: 'all' | 'none' | 'list';
  readonly blocks: readonly Cidr[];
  /** Lower case, ASCII, without a final dot; "*." before a name means everything below it. */
  readonly names: readonly string[];
  /** The same for the same list and different for others; never 0. Connections let through carry it. */
  readonly mark: number;
}

const namePattern = /^(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

const compileName = (entry: string): string => {
  const wildcard = entry.startsWith('*.') ? '*.' : '';
  const name = wildcard + domainToASCII(entry.slice(wildcard.length).replace(/\.$/, ''));
  const isNumeric = /^[\d.]+$/.test(name);
  if (name.length > 253 || isNumeric || !namePattern.test(name)) {
    throw new InvalidEgress(`not an IPv4 address, CIDR or domain: ${JSON.stringify(entry)}`);
  }
  return name;
};

const markOf = (parts: readonly string[]): number =>
  (createHash('sha256').update(parts.join('\n')).digest().readUInt32BE(0) >>> 1) + 1;

/** The rules of a policy. Throws InvalidEgress on an entry that is neither IPv4 nor a domain. */
export const compileEgress = (policy: EgressPolicy): CompiledEgress => {
  if (policy === 'all' || policy === 'none') return { mode: policy, blocks: [], names: [], mark: 1 };
  if (policy.allow.length > maxAllowEntries) throw new InvalidEgress(`more than ${maxAllowEntries} entries`);
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
};
