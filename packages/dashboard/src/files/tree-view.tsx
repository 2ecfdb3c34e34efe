import { type DirectoryEntry, formatBytes } from '@mayfly/contract';
import { ChevronRight, File, FileQuestion, FileSymlink, Folder, FolderOpen, RotateCw } from 'lucide-react';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { describeError } from '../parts/notice.tsx';
import { readableName } from './names.ts';
import { isWithin } from './paths.ts';
import { type EntryRow, moveByKey, type TreeRow } from './tree.ts';

interface TreeProps {
  readonly label: string;
  readonly rows: readonly TreeRow[];
  readonly selected: string;
  readonly onOpen: (path: string) => void;
  readonly onToggle: (path: string, isExpanded: boolean) => void;
  readonly onRetry: (folder: string) => void;
}

/** The files as a tree, with the keyboard of the ARIA pattern: arrows, Home, End, first letters; Enter opens. */
export function Tree({ label, rows, selected, onOpen, onToggle, onRetry }: TreeProps) {
  const tree = useRef<HTMLDivElement>(null);
  const [focused, setFocused] = useState<string>();
  const shown = rows.filter((row): row is EntryRow => row.kind === 'entry');
  // One row takes part in the tab order: the one that had the focus, or else the selected one.
  const current = [focused, selected].find((path) => shown.some((row) => row.path === path)) ?? shown[0]?.path;
  const focus = (path: string) => {
    setFocused(path);
    rowElement(tree.current, shown, path)?.focus();
  };
  useEffect(() => {
    const row = tree.current?.querySelector('[aria-selected="true"]');
    if (selected !== '') row?.scrollIntoView({ block: 'nearest' });
  }, [selected]);
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const move = moveByKey(rows, current, event.key);
    if (move === undefined) return;
    event.preventDefault();
    if (move.kind === 'focus') focus(move.path);
    else if (move.kind === 'open') onOpen(move.path);
    else onToggle(move.path, move.kind === 'expand');
  };
  return (
    <div
      ref={tree}
      // While its folder is being read there is nothing that a tree could consist of.
      {...(rows.some(({ kind }) => kind === 'entry') && { role: 'tree', 'aria-label': label })}
      className="py-1.5 text-sm"
    >
      {rows.map((row) =>
        row.kind === 'entry' ? (
          <Entry
            key={row.path}
            row={row}
            isSelected={row.path === selected}
            isCurrent={row.path === current}
            isAbove={row.path !== selected && isWithin(selected, row.path)}
            onFocus={() => setFocused(row.path)}
            onKey={onKey}
            onOpen={() => onOpen(row.path)}
            onToggle={() => onToggle(row.path, !row.isExpanded)}
          />
        ) : (
          <Remark key={`${row.kind} ${row.path}`} row={row} onRetry={() => onRetry(row.path)} />
        ),
      )}
    </div>
  );
}

function rowElement(tree: HTMLElement | null, shown: readonly EntryRow[], path: string): HTMLElement | undefined {
  const index = shown.findIndex((row) => row.path === path);
  return tree?.querySelectorAll<HTMLElement>('[role="treeitem"]')[index];
}

const indent = (level: number) => ({ paddingLeft: `${0.4 + (level - 1) * 0.95}rem` });

interface EntryProps {
  readonly row: EntryRow;
  readonly isSelected: boolean;
  readonly isCurrent: boolean;
  /** Whether the selected entry is somewhere in it. */
  readonly isAbove: boolean;
  readonly onFocus: () => void;
  readonly onKey: (event: KeyboardEvent) => void;
  readonly onOpen: () => void;
  readonly onToggle: () => void;
}

function Entry({ row, isSelected, isCurrent, isAbove, onFocus, onKey, onOpen, onToggle }: EntryProps) {
  const { entry, level, isExpanded, position, siblings } = row;
  const isFolder = entry.type === 'dir';
  return (
    <div
      role="treeitem"
      aria-level={level}
      aria-posinset={position}
      aria-setsize={siblings}
      aria-selected={isSelected}
      {...(isFolder && { 'aria-expanded': isExpanded })}
      tabIndex={isCurrent ? 0 : -1}
      title={readableName(entry.name)}
      onFocus={onFocus}
      onKeyDown={onKey}
      onClick={(event) => {
        const isArrow = event.target instanceof Element && event.target.closest('[data-arrow]') !== null;
        if (isArrow) onToggle();
        else onOpen();
      }}
      style={indent(level)}
      className={`group mx-1.5 flex h-7.5 cursor-pointer items-center gap-1.5 rounded-md pr-2 focus-visible:-outline-offset-2 ${isSelected ? 'bg-tint text-accent' : 'hover:bg-panel'} ${isAbove ? 'font-medium' : ''}`}
    >
      <span data-arrow aria-hidden className="grid size-5 shrink-0 place-items-center rounded-sm text-soft">
        {isFolder && <ChevronRight size={15} className={`transition-transform ${isExpanded ? 'rotate-90' : ''}`} />}
      </span>
      <EntryIcon entry={entry} isOpen={isExpanded} />
      <span className="min-w-0 grow truncate">
        {readableName(entry.name)}
        <KindForReaders entry={entry} />
      </span>
      {entry.size_bytes !== null && (
        <span className="shrink-0 text-[0.75rem] text-soft tabular-nums">{formatBytes(entry.size_bytes)}</span>
      )}
    </div>
  );
}

/** What an entry is: a device, socket or pipe is listed as a file without a size. */
export function isSpecial({ type, size_bytes }: DirectoryEntry): boolean {
  return type === 'file' && size_bytes === null;
}

export function EntryIcon({ entry, isOpen = false }: { readonly entry: DirectoryEntry; readonly isOpen?: boolean }) {
  if (entry.type === 'dir') {
    const Icon = isOpen ? FolderOpen : Folder;
    return <Icon size={16} aria-hidden className="shrink-0 text-accent" />;
  }
  const Icon = entry.type === 'symlink' ? FileSymlink : isSpecial(entry) ? FileQuestion : File;
  return <Icon size={16} aria-hidden className="shrink-0 text-soft" />;
}

function KindForReaders({ entry }: { readonly entry: DirectoryEntry }) {
  if (entry.type === 'symlink') return <span className="sr-only"> (link)</span>;
  return isSpecial(entry) ? <span className="sr-only"> (special file)</span> : null;
}

interface RemarkProps {
  readonly row: Exclude<TreeRow, EntryRow>;
  readonly onRetry: () => void;
}

/** What stands in place of entries. */
function Remark({ row, onRetry }: RemarkProps) {
  return (
    <div
      role="none"
      style={{ paddingLeft: `${2.2 + (row.level - 1) * 0.95}rem` }}
      className="flex min-h-7.5 items-center gap-2 py-1 pr-3 text-[0.8rem] text-soft"
    >
      {row.kind === 'loading' && <span className="animate-breathe">Loading …</span>}
      {row.kind === 'empty' && 'Nothing to see'}
      {row.kind === 'more' && `${row.count.toLocaleString('en')} more are not shown. Type a path to open one.`}
      {row.kind === 'failed' && (
        <>
          <span role="alert" className="min-w-0 grow wrap-anywhere text-red">
            {describeError(row.error).message}
          </span>
          <button
            type="button"
            aria-label="Try again"
            onClick={onRetry}
            className="grid size-6 shrink-0 place-items-center rounded-sm hover:bg-panel"
          >
            <RotateCw size={13} aria-hidden />
          </button>
        </>
      )}
    </div>
  );
}
