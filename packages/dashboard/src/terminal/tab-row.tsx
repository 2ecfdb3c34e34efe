import { X } from 'lucide-react';
import { type KeyboardEvent, type MouseEvent, type Ref, useEffect, useRef } from 'react';
import { labelOf, type Tab } from './tabs.ts';

interface TabRowProps {
  readonly ref: Ref<HTMLDivElement>;
  readonly tabs: readonly Tab[];
  readonly selected: number | undefined;
  readonly onSelect: (key: number) => void;
  /** The keyboard goes to the terminal. */
  readonly onEnter: (key: number) => void;
  readonly onClose: (tab: Tab) => void;
}

/** The tabs of the terminals. Arrow keys move between them, Enter goes into the terminal, Delete closes it. */
export function TabRow({ ref, tabs, selected, onSelect, onEnter, onClose }: TabRowProps) {
  const current = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (selected !== undefined) current.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [selected]);
  const onKey = (event: KeyboardEvent<HTMLButtonElement>, tab: Tab) => {
    if (event.key === 'Delete') onClose(tab);
    else if (event.key === 'Enter') onEnter(tab.key);
    else {
      const next = neighbour(tabs, tab, event.key);
      if (next === undefined) return;
      onSelect(next.key);
      const buttons = event.currentTarget.parentElement?.querySelectorAll<HTMLElement>('[role="tab"]');
      buttons?.[tabs.indexOf(next)]?.focus();
    }
    event.preventDefault();
  };
  const onClick = (event: MouseEvent<HTMLButtonElement>, tab: Tab) => {
    if (event.target instanceof Element && event.target.closest('[data-close]')) onClose(tab);
    else {
      onSelect(tab.key);
      // Once it is shown.
      requestAnimationFrame(() => onEnter(tab.key));
    }
  };
  return (
    <div
      ref={ref}
      role="tablist"
      aria-label="Open terminals"
      className="flex min-w-0 items-stretch overflow-x-auto [scrollbar-width:none]"
    >
      {tabs.map((tab) => {
        const isSelected = tab.key === selected;
        return (
          <button
            key={tab.key}
            ref={isSelected ? current : null}
            type="button"
            role="tab"
            aria-selected={isSelected}
            aria-controls={`terminal-${tab.key}`}
            aria-keyshortcuts="Delete"
            tabIndex={isSelected ? 0 : -1}
            title={labelOf(tab)}
            onClick={(event) => onClick(event, tab)}
            onAuxClick={(event) => {
              if (event.button === 1) onClose(tab);
            }}
            onKeyDown={(event) => onKey(event, tab)}
            className="group flex max-w-60 min-w-30 items-center gap-2 border-line border-r py-1 pr-1.5 pl-3.5 text-sm text-soft transition-colors hover:text-ink focus-visible:-outline-offset-2 aria-selected:bg-page aria-selected:text-ink"
          >
            <StateDot tab={tab} />
            <span className="min-w-0 grow truncate text-left">{labelOf(tab)}</span>
            <span
              data-close
              aria-hidden
              title="Close"
              className="grid size-6 shrink-0 place-items-center rounded-sm text-soft hover:bg-tint hover:text-ink md:opacity-0 md:group-hover:opacity-100 md:group-focus-visible:opacity-100 md:group-aria-selected:opacity-100"
            >
              <X size={14} />
            </span>
          </button>
        );
      })}
    </div>
  );
}

const dots = {
  connecting: { look: 'bg-line', text: undefined },
  open: { look: 'bg-green', text: undefined },
  lost: { look: 'bg-amber-mark animate-breathe', text: 'connection lost' },
  ended: { look: 'bg-edge', text: 'ended' },
  gone: { look: 'bg-red-mark', text: 'ended' },
} as const;

function StateDot({ tab: { state } }: { readonly tab: Tab }) {
  const { look, text } = dots[state.kind];
  return (
    <span className={`size-1.5 shrink-0 rounded-full ${look}`}>
      {text !== undefined && <span className="sr-only">{text}:</span>}
    </span>
  );
}

/** The tab that a key leads to; undefined for other keys. */
function neighbour(tabs: readonly Tab[], tab: Tab, key: string): Tab | undefined {
  const index = tabs.indexOf(tab);
  if (key === 'ArrowRight') return tabs[(index + 1) % tabs.length];
  if (key === 'ArrowLeft') return tabs.at(index - 1);
  if (key === 'Home') return tabs[0];
  if (key === 'End') return tabs.at(-1);
  return undefined;
}
