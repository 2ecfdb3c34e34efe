import { type SizeName, sizeNames } from '@mayfly/contract';
import { type Filter, filters } from './filter.ts';

/** How old a sandbox may be, or has to be, to be shown. */
export const ages = ['under-1h', 'under-24h', 'over-1h', 'over-24h'] as const;

export type Age = (typeof ages)[number];

/** The orders of the list. Without a choice: newest first, as the service sends them. */
export const orders = ['newest', 'oldest', 'ending', 'name', 'cost'] as const;

export type Order = (typeof orders)[number];

/** What the address says about the list. A part that is not there has its default. */
export interface ListSearch {
  readonly status?: Exclude<Filter, 'current'>;
  /** What is searched for in names and ids. */
  readonly q?: string;
  readonly size?: SizeName;
  readonly age?: Age;
  readonly sort?: Exclude<Order, 'newest'>;
  /** Whether the dialog that creates a sandbox is open. */
  readonly create?: true;
  /** The snapshot that the dialog begins with. */
  readonly from?: string;
}

const longestQuery = 200;

/** Reads the address. What it cannot mean is as if it were not there. */
export function readListSearch(search: Record<string, unknown>): ListSearch {
  const status = oneOf(filters, search.status);
  const q = readText(search.q).slice(0, longestQuery);
  const size = oneOf(sizeNames, search.size);
  const age = oneOf(ages, search.age);
  const sort = oneOf(orders, search.sort);
  const from = readText(search.from);
  return {
    ...(status !== undefined && status !== 'current' && { status }),
    ...(q.trim() !== '' && { q }),
    ...(size !== undefined && { size }),
    ...(age !== undefined && { age }),
    ...(sort !== undefined && sort !== 'newest' && { sort }),
    ...(search.create === true && { create: true }),
    ...(search.create === true && /^snap_\w+$/.test(from) && { from }),
  };
}

/** Returns the search with some parts changed. Those that become undefined, or have their default, are left out. */
export function withChange(
  search: ListSearch,
  change: { readonly [Part in keyof ListSearch]?: ListSearch[Part] | 'current' | 'newest' | undefined },
): ListSearch {
  return readListSearch({ ...search, ...change });
}

/** Whether anything but the status decides what is shown. */
export function isNarrowed({ q, size, age }: ListSearch): boolean {
  return q !== undefined || size !== undefined || age !== undefined;
}

function oneOf<const Value>(values: readonly Value[], given: unknown): Value | undefined {
  return values.find((value) => value === given);
}

/** The router reads `q=42` as a number. */
function readText(given: unknown): string {
  return typeof given === 'string' || typeof given === 'number' || typeof given === 'boolean' ? `${given}` : '';
}
