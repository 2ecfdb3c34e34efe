import type { Account, Sandbox } from '@mayfly/contract';
import { type Filter, isShown } from './filter.ts';
import { costUsd } from './lifetime.ts';
import type { Age, ListSearch, Order } from './list-search.ts';

const hourMs = 3_600_000;
const ageBounds: Readonly<Record<Age, { readonly hours: number; readonly isOlder: boolean }>> = {
  'under-1h': { hours: 1, isOlder: false },
  'under-24h': { hours: 24, isOlder: false },
  'over-1h': { hours: 1, isOlder: true },
  'over-24h': { hours: 24, isOlder: true },
};

interface Circumstances {
  readonly nowMs: number;
  readonly prices: Account['pricing_usd_per_hour'] | undefined;
}

/** Returns the sandboxes that a search asks for, in its order. `sandboxes` are newest first. */
export function arrange(
  sandboxes: readonly Sandbox[],
  search: ListSearch,
  circumstances: Circumstances,
): readonly Sandbox[] {
  const { q = '', size, age } = search;
  const status: Filter = search.status ?? 'current';
  const words = wordsOf(q);
  const shown = sandboxes.filter(
    (sandbox) =>
      isShown(sandbox, status) &&
      (size === undefined || sandbox.size === size) &&
      (age === undefined || isOfAge(sandbox, age, circumstances.nowMs)) &&
      hasWords(sandbox, words),
  );
  return inOrder(shown, search.sort ?? 'newest', circumstances);
}

/** Whether sandboxes on pages that were not read yet could change what is shown, wherever it is looked at. */
export function needsAllPages({ sort }: ListSearch): boolean {
  return sort !== undefined;
}

/** Whether no sandbox after the oldest that is known can be shown: all are too old. */
export function isPastTheEnd({ age }: ListSearch, sandboxes: readonly Sandbox[], nowMs: number): boolean {
  const oldest = sandboxes.at(-1);
  if (age === undefined || oldest === undefined || ageBounds[age].isOlder) return false;
  return !isOfAge(oldest, age, nowMs);
}

function isOfAge({ created_at }: Pick<Sandbox, 'created_at'>, age: Age, nowMs: number): boolean {
  const { hours, isOlder } = ageBounds[age];
  return nowMs - Date.parse(created_at) >= hours * hourMs === isOlder;
}

function wordsOf(text: string): readonly string[] {
  return text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
}

/** Whether each word is somewhere in the name or the id. */
function hasWords({ id, name }: Pick<Sandbox, 'id' | 'name'>, words: readonly string[]): boolean {
  const text = `${name ?? ''}\n${id}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

const collator = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

function inOrder(sandboxes: readonly Sandbox[], order: Order, { nowMs, prices }: Circumstances): readonly Sandbox[] {
  switch (order) {
    case 'newest':
      return sandboxes;
    case 'oldest':
      return sandboxes.toReversed();
    case 'ending':
      return byKey(sandboxes, endOf, (a, b) => a - b);
    case 'name':
      return sandboxes.toSorted(({ name: a }, { name: b }) =>
        a === null || b === null ? Number(a === null) - Number(b === null) : collator.compare(a, b),
      );
    case 'cost':
      return prices
        ? byKey(
            sandboxes,
            (sandbox) => costUsd(sandbox, prices, nowMs),
            (a, b) => b - a,
          )
        : sandboxes;
  }
}

/** When a sandbox will end; those that will not are last. */
function endOf({ status, expires_at }: Sandbox): number {
  return status === 'running' && expires_at !== null ? Date.parse(expires_at) : Number.MAX_SAFE_INTEGER;
}

function byKey(
  sandboxes: readonly Sandbox[],
  keyOf: (sandbox: Sandbox) => number,
  compare: (a: number, b: number) => number,
): readonly Sandbox[] {
  return sandboxes
    .map((sandbox) => ({ sandbox, key: keyOf(sandbox) }))
    .sort((a, b) => compare(a.key, b.key))
    .map(({ sandbox }) => sandbox);
}
