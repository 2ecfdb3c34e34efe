/** Where a machine may connect to, below the refusals that always hold. Entries of `allow` are IPv4 addresses, CIDRs, names, or "*." and a name. */
export type EgressPolicy = 'all' | 'none' | { readonly allow: readonly string[] };

/** The most entries of an allow-list. */
export const maxAllowEntries = 1000;

/** An allow-list that cannot be understood; the message names the entry. */
export class InvalidEgress extends Error {
  override readonly name = 'InvalidEgress';
}
