import { sandboxStatuses } from '@mayfly/contract';
import { expect, test } from 'vitest';
import { filters, includesDeleted, isShown } from './filter.ts';

test('every sandbox is in the list of all, and in some other one', () => {
  for (const status of sandboxStatuses) {
    expect(filters.filter((filter) => isShown({ status }, filter))).toContain('all');
    expect(filters.filter((filter) => isShown({ status }, filter)).length).toBeGreaterThan(1);
  }
});

test('deleted sandboxes are asked for where they are shown', () => {
  for (const filter of filters) expect(isShown({ status: 'deleted' }, filter)).toBe(includesDeleted(filter));
});
