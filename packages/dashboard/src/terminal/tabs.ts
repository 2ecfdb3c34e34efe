import type { ConnectionState } from './connection.ts';
import { type Arrangement, arrange } from './sessions.ts';

/** One terminal in the row of tabs. */
export interface Tab {
  /** Of this page; a terminal that was just started has no id yet. */
  readonly key: number;
  /** Counts the shells that were started in it. */
  readonly attempt: number;
  readonly session: string | undefined;
  /** From the program that runs in it. */
  readonly title: string | undefined;
  readonly state: ConnectionState;
  /** Whether it is closed as soon as its shell has exited. */
  readonly isEnding: boolean;
}

export interface Tabs {
  readonly tabs: readonly Tab[];
  readonly selected: number | undefined;
  /** The terminals without a tab, by their ids. */
  readonly detached: readonly string[];
  readonly nextKey: number;
}

export type TabsAction =
  | { readonly type: 'restore'; readonly remembered: Arrangement; readonly running: readonly string[] }
  /** Starts a terminal, or shows one that has no tab. */
  | { readonly type: 'open'; readonly session?: string }
  | { readonly type: 'select'; readonly key: number }
  | {
      readonly type: 'change';
      readonly key: number;
      readonly changes: Partial<Pick<Tab, 'session' | 'title' | 'state'>>;
    }
  /** Starts another shell in the place of one that has exited. */
  | { readonly type: 'restart'; readonly key: number }
  /** Removes a tab at once, or when its shell has exited. */
  | { readonly type: 'close'; readonly key: number; readonly how: 'detach' | 'end' };

export const noTabs: Tabs = { tabs: [], selected: undefined, detached: [], nextKey: 1 };

export function changeTabs(tabs: Tabs, action: TabsAction): Tabs {
  switch (action.type) {
    case 'restore': {
      const { tabs: ids, detached, selected } = arrange(action.remembered, action.running);
      const restored = ids.map((session, index) => newTab(index + 1, session));
      const shown = restored.find(({ session }) => session === selected);
      return { tabs: restored, detached, selected: shown?.key, nextKey: ids.length + 1 };
    }
    case 'open': {
      const tab = newTab(tabs.nextKey, action.session);
      return {
        tabs: [...tabs.tabs, tab],
        selected: tab.key,
        detached: tabs.detached.filter((id) => id !== action.session),
        nextKey: tabs.nextKey + 1,
      };
    }
    case 'select':
      return { ...tabs, selected: action.key };
    case 'change': {
      const changed = change(tabs, action.key, action.changes);
      const tab = changed.tabs.find(({ key }) => key === action.key);
      return tab?.isEnding && hasEnded(tab) ? remove(changed, action.key) : changed;
    }
    case 'restart': {
      const attempt = (tabs.tabs.find(({ key }) => key === action.key)?.attempt ?? 0) + 1;
      return change(tabs, action.key, { ...newTab(action.key, undefined), attempt });
    }
    case 'close': {
      const tab = tabs.tabs.find(({ key }) => key === action.key);
      if (tab === undefined) return tabs;
      if (action.how === 'end' && !hasEnded(tab)) return change(tabs, action.key, { isEnding: true });
      const goesOn = tab.session !== undefined && !hasEnded(tab);
      const removed = remove(tabs, action.key);
      return goesOn && tab.session !== undefined ? { ...removed, detached: [...tabs.detached, tab.session] } : removed;
    }
  }
}

/** Whether nothing more comes from the shell of a tab. */
export function hasEnded({ state }: Tab): boolean {
  return state.kind === 'ended' || state.kind === 'gone';
}

/** What a tab is called: as the program in it says, or by its number. */
export function labelOf({ title, key }: Tab): string {
  return title ?? `Terminal ${key}`;
}

/** What the browser remembers of the tabs. */
export function arrangementOf({ tabs, selected, detached }: Tabs): Arrangement {
  const running = tabs.filter((tab) => !hasEnded(tab) && tab.session !== undefined);
  return {
    tabs: running.flatMap(({ session }) => session ?? []),
    detached,
    selected: running.find(({ key }) => key === selected)?.session,
  };
}

function newTab(key: number, session: string | undefined): Tab {
  return { key, attempt: 1, session, title: undefined, state: { kind: 'connecting' }, isEnding: false };
}

function change(tabs: Tabs, key: number, changes: Partial<Tab>): Tabs {
  return { ...tabs, tabs: tabs.tabs.map((tab) => (tab.key === key ? { ...tab, ...changes } : tab)) };
}

/** Without a tab. Its neighbour is shown in its place. */
function remove(tabs: Tabs, key: number): Tabs {
  const index = tabs.tabs.findIndex((tab) => tab.key === key);
  const left = tabs.tabs.filter((tab) => tab.key !== key);
  const selected = tabs.selected === key ? left[Math.min(index, left.length - 1)]?.key : tabs.selected;
  return { ...tabs, tabs: left, selected };
}
