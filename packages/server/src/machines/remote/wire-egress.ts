import type { EgressPolicy } from '../../core/ports/machine-driver.ts';
import { compileEgress } from '../qemu/network/egress-policy.ts';
import { formatCidr } from '../qemu/network/plan/ipv4.ts';

/** A policy in the form that the protocol allows: plain addresses and ASCII names. Throws InvalidEgress, which names the entry. */
export function wireEgress(policy: EgressPolicy): 'all' | 'none' | { allow: string[] } {
  const { mode, blocks, names } = compileEgress(policy);
  return mode === 'list' ? { allow: [...blocks.map(formatCidr), ...names] } : mode;
}
