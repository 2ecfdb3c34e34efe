import type { Sandbox } from '@mayfly/contract';

/** What the list shows. Without a choice: everything that is not deleted. */
export const filters = ['current', 'running', 'failed', 'ended', 'all'] as const;

export type Filter = (typeof filters)[number];

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
