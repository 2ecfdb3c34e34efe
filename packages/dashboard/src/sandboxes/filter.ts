import type { Sandbox } from '@mayfly/contract';

/** What the list shows. Without a choice: everything that is not deleted. */
export const filters = ['current', 'running', 'failed', 'ended', 'all'] as const;

export type Filter = (typeof filters)[number];

/** The part of the address that says what the list shows. */
export interface FilterSearch {
  readonly status?: Exclude<Filter, 'current'>;
}

/** Reads the address. What it cannot mean is as if it were not there. */
export function readFilter(search: Record<string, unknown>): FilterSearch {
  const status = filters.find((filter) => filter === search.status);
  return status === undefined || status === 'current' ? {} : { status };
}

/** The address for a choice. */
export function searchOf(filter: Filter): FilterSearch {
  return filter === 'current' ? {} : { status: filter };
}

/** Whether sandboxes that are deleted have to be asked for. */
export function includesDeleted(filter: Filter): boolean {
  return filter === 'ended' || filter === 'all';
}

export function isShown({ status }: Pick<Sandbox, 'status'>, filter: Filter): boolean {
  switch (filter) {
    case 'all':
      return true;
    case 'current':
      return status !== 'deleted';
    case 'running':
      return status === 'running' || status === 'provisioning';
    case 'failed':
      return status === 'failed';
    case 'ended':
      return status === 'deleted' || status === 'deleting';
  }
}
