import type { Sandbox } from '@mayfly/contract';

/** What is selected in a list, by id. */
export interface Selection {
  readonly ids: ReadonlySet<string>;
  /** Where a range begins: the row that was chosen last. */
  readonly anchor: string | undefined;
}

export const emptySelection: Selection = { ids: new Set(), anchor: undefined };

/** Whether something can be done with a sandbox. */
export function isSelectable({ status }: Pick<Sandbox, 'status'>): boolean {
  return status !== 'deleted';
}

/**
 * Selects a row, or takes it out. With `isRange` all rows from the one that was chosen last become like it, if that is among those that are shown.
 * `shown` are the selectable ids in the order of the list.
 */
export function toggle({ ids, anchor }: Selection, id: string, shown: readonly string[], isRange: boolean): Selection {
  const from = isRange && anchor !== undefined ? shown.indexOf(anchor) : -1;
  const to = shown.indexOf(id);
  const range = from === -1 || to === -1 ? [id] : shown.slice(Math.min(from, to), Math.max(from, to) + 1);
  return { ids: ids.has(id) ? without(ids, range) : new Set([...ids, ...range]), anchor: id };
}

/** Selects everything that is shown, or, if it is already, takes it out. */
export function toggleAll({ ids }: Selection, shown: readonly string[]): Selection {
  const isAll = shown.every((id) => ids.has(id));
  return { ids: isAll ? without(ids, shown) : new Set([...ids, ...shown]), anchor: undefined };
}

function without(ids: ReadonlySet<string>, removed: readonly string[]): ReadonlySet<string> {
  const gone = new Set(removed);
  return new Set([...ids].filter((id) => !gone.has(id)));
}

/** Returns the selected ones among those that are shown: nothing is done with what one does not see. */
export function selectedAmong(sandboxes: readonly Sandbox[], { ids }: Selection): readonly Sandbox[] {
  return ids.size === 0 ? [] : sandboxes.filter((sandbox) => ids.has(sandbox.id) && isSelectable(sandbox));
}
