import type { Sandbox, SandboxList } from '@mayfly/contract';
import { expect, test } from 'vitest';
import { applyChanges, newerOf } from './apply-change.ts';

/** Sandboxes are named by the minute that they were created in. */
const sandbox = (minute: number, status: Sandbox['status'] = 'running') =>
  ({ id: `sbx_${minute}`, status, created_at: `2026-01-02T03:${minute}:00.000Z` }) as Sandbox;
const page = (minutes: readonly number[], hasMore = false): SandboxList => ({
  object: 'list',
  data: minutes.map((minute) => sandbox(minute)),
  has_more: hasMore,
  next_cursor: hasMore ? 'more' : null,
});
const shown = (pages: readonly SandboxList[]) =>
  pages.map(({ data }) => data.map(({ id, status }) => (status === 'running' ? id : `${id} ${status}`)));

test('a changed sandbox stays where it is', () => {
  const pages = applyChanges([page([40, 30], true), page([20])], [sandbox(20, 'failed')], { includeDeleted: false });
  expect(shown(pages)).toEqual([['sbx_40', 'sbx_30'], ['sbx_20 failed']]);
});

test('a deleted one leaves a list that does not include them', () => {
  const pages = [page([40, 30])];
  expect(shown(applyChanges(pages, [sandbox(30, 'deleted')], { includeDeleted: false }))).toEqual([['sbx_40']]);
  expect(shown(applyChanges(pages, [sandbox(30, 'deleted')], { includeDeleted: true }))).toEqual([
    ['sbx_40', 'sbx_30 deleted'],
  ]);
  expect(shown(applyChanges(pages, [sandbox(20, 'deleted')], { includeDeleted: false }))).toEqual([
    ['sbx_40', 'sbx_30'],
  ]);
});

test('new ones are where their age belongs', () => {
  const told = [sandbox(50), sandbox(35), sandbox(25)];
  const pages = applyChanges([page([40, 30], true), page([20], true)], told, { includeDeleted: false });
  expect(shown(pages)).toEqual([
    ['sbx_50', 'sbx_40', 'sbx_35', 'sbx_30'],
    ['sbx_25', 'sbx_20'],
  ]);
});

test('one that belongs on a page that is not loaded is left out; the last page has all the rest', () => {
  expect(shown(applyChanges([page([40], true)], [sandbox(10)], { includeDeleted: false }))).toEqual([['sbx_40']]);
  expect(shown(applyChanges([page([40])], [sandbox(10)], { includeDeleted: false }))).toEqual([['sbx_40', 'sbx_10']]);
  expect(shown(applyChanges([page([])], [sandbox(10)], { includeDeleted: false }))).toEqual([['sbx_10']]);
});

test('what is told late does not bring a sandbox back', () => {
  expect(newerOf(sandbox(1, 'deleting'), sandbox(1)).status).toBe('deleting');
  expect(newerOf(sandbox(1), sandbox(1, 'deleted')).status).toBe('deleted');
});
