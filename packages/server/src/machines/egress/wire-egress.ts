import type { EgressPolicy } from '../../core/ports/machine-driver.ts';
import { formatCidr } from '../ipv4.ts';
import { compileEgress } from './egress-policy.ts';

/** A policy in the form that the protocol allows: plain addresses and ASCII names. Throws InvalidEgress, which names the entry. */
export function wireEgress(policy: EgressPolicy): 'all' | 'none' | { allow: string[] } {
  const { mode, blocks, names } = compileEgress(policy);
  return mode === 'list' ? { allow: [...blocks.map(formatCidr), ...names] } : mode;
}
