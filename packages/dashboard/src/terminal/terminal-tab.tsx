import type { Sandbox } from '@mayfly/contract';
import type { TerminalList } from '@mayfly/contract/dashboard';
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { AArrowDown, AArrowUp, Accessibility, Plus, SquareTerminal } from 'lucide-react';
import { type ReactNode, useCallback, useEffect, useReducer, useRef, useState } from 'react';
import { request } from '../api/request.ts';
import { Button } from '../parts/button.tsx';
import { Menu, MenuItem, MenuLabel } from '../parts/menu.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { useDelayed } from '../parts/use-delayed.ts';
import { NeedsMachine } from '../sandbox/outcome.tsx';
import { sandboxPath, useSandbox } from '../sandbox/queries.ts';
import { CloseTerminal } from './close-terminal.tsx';
import { fontSizesPx, prefer, usePreferences } from './preferences.ts';
import type { Told } from './reconnect.ts';
import { readArrangement, rememberArrangement } from './sessions.ts';
import { TabRow } from './tab-row.tsx';
import { arrangementOf, changeTabs, hasEnded, labelOf, noTabs, type Tab } from './tabs.ts';
import { type ScreenHandle, TerminalScreen } from './terminal-screen.tsx';

function terminalsQuery(id: string) {
  return queryOptions({
    queryKey: ['terminals', id],
    queryFn: ({ signal }) => request<TerminalList>(`${sandboxPath(id)}/terminals`, { signal }),
    // Each visit begins with what is running now.
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
}

/** Shells in the sandbox, as tabs. Those that were open come back with their screens. */
export function TerminalTab() {
  const sandbox = useSandbox();
  if (sandbox.status !== 'running') return <NeedsMachine sandbox={sandbox} what="A terminal" />;
  return <RunningTerminals key={sandbox.id} sandbox={sandbox} />;
}

function RunningTerminals({ sandbox: { id } }: { readonly sandbox: Sandbox }) {
  const terminals = useQuery(terminalsQuery(id));
  const isSlow = useDelayed(terminals.isPending);
  if (terminals.data) return <Terminals id={id} running={terminals.data.data.map((terminal) => terminal.id)} />;
  if (terminals.isError) {
    return (
      <ErrorNotice
        error={terminals.error}
        action={<Button onClick={() => void terminals.refetch()}>Try again</Button>}
      />
    );
  }
  return isSlow ? (
    <div role="status" className="grid h-60 animate-breathe place-items-center rounded-lg bg-panel text-soft">
      Looking for terminals …
    </div>
  ) : null;
}

interface TerminalsProps {
  readonly id: string;
  /** As they were when the page was opened. */
  readonly running: readonly string[];
}

function Terminals({ id, running }: TerminalsProps) {
  const queryClient = useQueryClient();
  const [tabs, change] = useReducer(changeTabs, noTabs, (none) => {
    const restored = changeTabs(none, { type: 'restore', remembered: readArrangement(id), running });
    return restored.tabs.length === 0 && restored.detached.length === 0 ? changeTabs(none, { type: 'open' }) : restored;
  });
  const [closing, setClosing] = useState<number>();
  const screens = useRef(new Map<number, ScreenHandle>());
  const row = useRef<HTMLDivElement>(null);
  const { selected } = tabs;
  // A terminal is connected from when it is first looked at.
  const [visited, setVisited] = useState<ReadonlySet<number>>(new Set());
  if (selected !== undefined && !visited.has(selected)) setVisited(new Set([...visited, selected]));

  const remembered = JSON.stringify(arrangementOf(tabs));
  useEffect(() => rememberArrangement(id, JSON.parse(remembered)), [id, remembered]);

  const ask = useCallback(async (): Promise<Told> => {
    try {
      const { data, limit } = await queryClient.fetchQuery({
        ...terminalsQuery(id),
        queryKey: ['terminals', id, 'now'],
      });
      return { ids: data.map((terminal) => terminal.id), limit };
    } catch (error) {
      return { error };
    }
  }, [queryClient, id]);
  const close = (tab: Tab) => {
    if (hasEnded(tab)) change({ type: 'close', key: tab.key, how: 'end' });
    else setClosing(tab.key);
  };
  const closingTab = tabs.tabs.find(({ key }) => key === closing);
  return (
    <section
      aria-label="Terminals"
      className="flex h-[max(22rem,calc(100dvh-23rem))] flex-col overflow-hidden rounded-lg border border-line bg-page"
    >
      <div className="flex min-h-11 items-stretch border-line border-b bg-panel">
        <TabRow
          ref={row}
          tabs={tabs.tabs}
          selected={selected}
          onSelect={(key) => change({ type: 'select', key })}
          onEnter={(key) => screens.current.get(key)?.focus()}
          onClose={close}
        />
        <ToolButton label="New terminal" onClick={() => change({ type: 'open' })}>
          <Plus size={17} aria-hidden />
        </ToolButton>
        <div className="grow" />
        {tabs.detached.length > 0 && (
          <DetachedMenu detached={tabs.detached} onShow={(session) => change({ type: 'open', session })} />
        )}
        <Preferences />
      </div>
      {tabs.tabs.length === 0 && <NoTerminal onOpen={() => change({ type: 'open' })} />}
      {tabs.tabs
        .filter(({ key }) => visited.has(key))
        .map((tab) => (
          <TerminalScreen
            key={`${tab.key}.${tab.attempt}`}
            ref={(screen) => {
              if (screen) screens.current.set(tab.key, screen);
              return () => void screens.current.delete(tab.key);
            }}
            tab={tab}
            label={labelOf(tab)}
            path={sandboxPath(id)}
            isShown={tab.key === selected}
            ask={ask}
            onChange={(changes) => {
              change({ type: 'change', key: tab.key, changes });
              if (changes.state?.kind === 'open' && tab.key === selected)
                focusUnlessElsewhere(screens.current.get(tab.key));
            }}
            onLeave={() => row.current?.querySelector<HTMLElement>('[aria-selected="true"]')?.focus()}
            onRestart={() => change({ type: 'restart', key: tab.key })}
          />
        ))}
      <p className="border-line border-t bg-panel px-3.5 py-1.5 text-[0.8rem] text-soft max-md:hidden">
        <Keys of="Ctrl Shift C" /> copies, <Keys of="Ctrl Shift V" /> pastes, <Keys of="Ctrl Shift L" /> leaves the
        terminal. Closing this page does not end a shell.
      </p>
      {closingTab && !closingTab.isEnding && (
        <CloseTerminal
          label={labelOf(closingTab)}
          onCancel={() => setClosing(undefined)}
          onDetach={() => {
            setClosing(undefined);
            change({ type: 'close', key: closingTab.key, how: 'detach' });
          }}
          onEnd={() => {
            if (screens.current.get(closingTab.key)?.hangUp() !== true) return false;
            setClosing(undefined);
            change({ type: 'close', key: closingTab.key, how: 'end' });
            return true;
          }}
        />
      )}
    </section>
  );
}

/** The keyboard goes to a shell that has just opened, unless the person is doing something else. */
function focusUnlessElsewhere(screen: ScreenHandle | undefined): void {
  const { activeElement } = document;
  const isElsewhere = activeElement?.matches('input, textarea, select, dialog *, [role="tab"]') ?? false;
  if (!isElsewhere) screen?.focus();
}

function Preferences() {
  const { fontSizePx, isForScreenReaders } = usePreferences();
  return (
    <fieldset className="flex items-stretch">
      <legend className="sr-only">How terminals look</legend>
      <ToolButton
        label="Smaller text"
        isDisabled={fontSizePx <= fontSizesPx.min}
        onClick={() => prefer({ fontSizePx: fontSizePx - 1 })}
      >
        <AArrowDown size={18} aria-hidden />
      </ToolButton>
      <ToolButton
        label="Larger text"
        isDisabled={fontSizePx >= fontSizesPx.max}
        onClick={() => prefer({ fontSizePx: fontSizePx + 1 })}
      >
        <AArrowUp size={18} aria-hidden />
      </ToolButton>
      <ToolButton
        label="Screen reader mode"
        isPressed={isForScreenReaders}
        onClick={() => prefer({ isForScreenReaders: !isForScreenReaders })}
      >
        <Accessibility size={17} aria-hidden />
      </ToolButton>
    </fieldset>
  );
}

interface ToolButtonProps {
  readonly label: string;
  readonly children: ReactNode;
  readonly isDisabled?: boolean;
  readonly isPressed?: boolean;
  readonly onClick: () => void;
}

function ToolButton({ label, children, isDisabled = false, isPressed, onClick }: ToolButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      aria-disabled={isDisabled}
      {...(isPressed !== undefined && { 'aria-pressed': isPressed })}
      onClick={isDisabled ? undefined : onClick}
      className="my-1 grid w-9 shrink-0 place-items-center rounded-md text-soft hover:bg-tint hover:text-ink focus-visible:-outline-offset-2 aria-disabled:cursor-not-allowed aria-disabled:opacity-45 aria-pressed:bg-tint aria-pressed:text-accent"
    >
      {children}
    </button>
  );
}

interface DetachedMenuProps {
  readonly detached: readonly string[];
  readonly onShow: (session: string) => void;
}

function DetachedMenu({ detached, onShow }: DetachedMenuProps) {
  return (
    <Menu
      label={`Detached terminals: ${detached.length}`}
      trigger={`${detached.length} detached`}
      triggerClass="my-1 shrink-0 rounded-md px-2.5 text-[0.8rem] text-soft hover:bg-tint hover:text-ink"
    >
      <MenuLabel>These go on without a tab</MenuLabel>
      {detached.map((session) => (
        <MenuItem
          key={session}
          icon={<SquareTerminal size={16} aria-hidden />}
          label={`Show ${session.slice(0, 13)}…`}
          onSelect={() => onShow(session)}
        />
      ))}
    </Menu>
  );
}

function NoTerminal({ onOpen }: { readonly onOpen: () => void }) {
  return (
    <div className="m-auto px-6 text-center">
      <SquareTerminal size={30} aria-hidden className="mx-auto mb-3 text-accent" />
      <p className="text-base font-medium">No terminal is open</p>
      <Button look="primary" className="mt-4" icon={<Plus size={17} aria-hidden />} onClick={onOpen}>
        Open a terminal
      </Button>
    </div>
  );
}

function Keys({ of }: { readonly of: string }) {
  return <kbd className="font-sans font-medium text-ink">{of.replaceAll(' ', '+')}</kbd>;
}
