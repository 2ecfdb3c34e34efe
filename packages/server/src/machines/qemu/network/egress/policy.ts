export type { EgressPolicy } from '../../../../core/ports/machine-driver.ts';

/** The most entries of an allow-list. */
export const maxAllowEntries = 1000;

/** An allow-list that cannot be understood; the message names the entry. */
export class InvalidEgress extends Error {
  override readonly name = 'InvalidEgress';
}
