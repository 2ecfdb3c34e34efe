import type { DirectoryEntry } from '@mayfly/contract';
import { joinPath, parentOf } from './paths.ts';

/** What is known of a folder: its entries, that they are being loaded, or why they cannot be. */
export type Listing =
  | { readonly kind: 'entries'; readonly entries: readonly DirectoryEntry[] }
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly error: unknown };

/** What is shown of the tree. */
export interface TreeView {
  readonly root: string;
  readonly expanded: ReadonlySet<string>;
  readonly showsHidden: boolean;
  readonly listingOf: (folder: string) => Listing;
}

interface RowPlace {
  /** The root's entries are at level 1. */
  readonly level: number;
  readonly path: string;
}

export type TreeRow =
  | (RowPlace & {
      readonly kind: 'entry';
      readonly entry: DirectoryEntry;
      readonly isExpanded: boolean;
      readonly position: number;
      readonly siblings: number;
    })
  /** Stands for the entries of the folder `path`. */
  | (RowPlace & { readonly kind: 'loading' | 'empty' })
  | (RowPlace & { readonly kind: 'failed'; readonly error: unknown })
  | (RowPlace & { readonly kind: 'more'; readonly count: number });

export type EntryRow = Extract<TreeRow, { kind: 'entry' }>;

/** A folder shows no more than this; the path box leads to the rest. */
export const maxShownEntries = 2_000;

const collator = new Intl.Collator('en', { numeric: true });

/** Folders first, then by name as people sort them. */
export function sortEntries(entries: readonly DirectoryEntry[]): readonly DirectoryEntry[] {
  return entries.toSorted(
    (a, b) => Number(b.type === 'dir') - Number(a.type === 'dir') || collator.compare(a.name, b.name),
  );
}

/** The rows of the tree from top to bottom. */
export function rowsOf(view: TreeView): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  addRows(rows, view, view.root, 1);
  return rows;
}

function addRows(rows: TreeRow[], view: TreeView, folder: string, level: number): void {
  const listing = view.listingOf(folder);
  if (listing.kind === 'failed') {
    rows.push({ kind: 'failed', level, path: folder, error: listing.error });
    return;
  }
  if (listing.kind === 'loading') {
    rows.push({ kind: 'loading', level, path: folder });
    return;
  }
  const visible = listing.entries.filter(({ name }) => view.showsHidden || !name.startsWith('.'));
  const shown = sortEntries(visible).slice(0, maxShownEntries);
  if (shown.length === 0) rows.push({ kind: 'empty', level, path: folder });
  for (const [index, entry] of shown.entries()) {
    const path = joinPath(folder, entry.name);
    const isExpanded = entry.type === 'dir' && view.expanded.has(path);
    rows.push({ kind: 'entry', level, path, entry, isExpanded, position: index + 1, siblings: shown.length });
    if (isExpanded) addRows(rows, view, path, level + 1);
  }
  if (visible.length > shown.length) {
    rows.push({ kind: 'more', level, path: folder, count: visible.length - shown.length });
  }
}

export type TreeMove =
  | { readonly kind: 'focus'; readonly path: string }
  | { readonly kind: 'expand' | 'collapse' | 'open'; readonly path: string };

/** What a key does in the tree, as in the ARIA pattern; undefined for other keys. */
export function moveByKey(rows: readonly TreeRow[], focused: string | undefined, key: string): TreeMove | undefined {
  const entries = rows.filter((row): row is EntryRow => row.kind === 'entry');
  const index = entries.findIndex(({ path }) => path === focused);
  const row = entries[index];
  const to = (target: EntryRow | undefined): TreeMove | undefined => target && { kind: 'focus', path: target.path };
  switch (key) {
    case 'ArrowDown':
      return to(entries[index + 1]);
    case 'ArrowUp':
      return index > 0 ? to(entries[index - 1]) : undefined;
    case 'Home':
      return to(entries[0]);
    case 'End':
      return to(entries.at(-1));
    case 'ArrowRight':
      if (row?.entry.type !== 'dir') return undefined;
      if (!row.isExpanded) return { kind: 'expand', path: row.path };
      return entries[index + 1]?.level === row.level + 1 ? to(entries[index + 1]) : undefined;
    case 'ArrowLeft':
      if (row === undefined) return undefined;
      if (row.isExpanded) return { kind: 'collapse', path: row.path };
      return to(entries.find(({ path }) => path === parentOf(row.path)));
    case 'Enter':
    case ' ':
      return row && { kind: 'open', path: row.path };
  }
  return key.length === 1 ? to(byFirstLetter(entries, index, key)) : undefined;
}

function byFirstLetter(entries: readonly EntryRow[], index: number, letter: string): EntryRow | undefined {
  const following = [...entries.slice(index + 1), ...entries.slice(0, index + 1)];
  return following.find(({ entry }) => entry.name.toLowerCase().startsWith(letter.toLowerCase()));
}
