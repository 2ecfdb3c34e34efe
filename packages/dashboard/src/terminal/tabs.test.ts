import { expect, test } from 'vitest';
import { arrangementOf, changeTabs, noTabs, type Tabs, type TabsAction } from './tabs.ts';

const after = (...actions: readonly TabsAction[]): Tabs => actions.reduce(changeTabs, noTabs);
const restored: TabsAction = {
  type: 'restore',
  remembered: { tabs: ['term_b', 'term_a'], detached: ['term_c'], selected: 'term_a' },
  running: ['term_a', 'term_b', 'term_c'],
};

test('a reload brings the tabs back, and keeps to themselves those that were detached', () => {
  const tabs = after(restored);
  expect(tabs.tabs.map(({ session }) => session)).toEqual(['term_b', 'term_a']);
  expect([tabs.selected, tabs.detached]).toEqual([2, ['term_c']]);
  expect(arrangementOf(tabs)).toEqual({ tabs: ['term_b', 'term_a'], detached: ['term_c'], selected: 'term_a' });
});

test('a new terminal is shown, and remembered once it has an id', () => {
  const tabs = after({ type: 'open' });
  expect(tabs).toMatchObject({ selected: 1, tabs: [{ key: 1, session: undefined }] });
  expect(arrangementOf(tabs).tabs).toEqual([]);
  const known = changeTabs(tabs, { type: 'change', key: 1, changes: { session: 'term_x' } });
  expect(arrangementOf(known)).toMatchObject({ tabs: ['term_x'], selected: 'term_x' });
});

test('a terminal that was detached can be shown again', () => {
  const detached = after(restored, { type: 'close', key: 2, how: 'detach' });
  expect([detached.selected, detached.detached]).toEqual([1, ['term_c', 'term_a']]);
  const shown = changeTabs(detached, { type: 'open', session: 'term_a' });
  expect(shown.detached).toEqual(['term_c']);
  expect(shown.tabs.find(({ key }) => key === shown.selected)?.session).toBe('term_a');
});

test('a tab whose shell is being ended closes when it has exited', () => {
  const ending = after(restored, { type: 'close', key: 2, how: 'end' });
  expect(ending.tabs).toHaveLength(2);
  const state = { kind: 'ended', exitCode: 129 } as const;
  const ended = changeTabs(ending, { type: 'change', key: 2, changes: { state } });
  expect([ended.tabs.length, ended.selected, ended.detached]).toEqual([1, 1, ['term_c']]);
});

test('a tab whose shell has exited stays until it is closed, and another shell can be started in it', () => {
  const state = { kind: 'ended', exitCode: 1 } as const;
  const ended = after(restored, { type: 'change', key: 2, changes: { state } });
  expect(arrangementOf(ended).tabs).toEqual(['term_b']);
  expect(changeTabs(ended, { type: 'restart', key: 2 }).tabs[1]).toMatchObject({
    key: 2,
    attempt: 2,
    session: undefined,
  });
  expect(changeTabs(ended, { type: 'close', key: 2, how: 'end' }).tabs).toHaveLength(1);
});
