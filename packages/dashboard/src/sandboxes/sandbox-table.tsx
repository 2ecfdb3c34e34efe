import type { Sandbox } from '@mayfly/contract';
import { useQuery } from '@tanstack/react-query';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import {
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { accountQuery } from '../api/queries.ts';
import { Checkbox } from '../parts/checkbox.tsx';
import type { SandboxAction } from './row-menu.tsx';
import { SandboxRow } from './sandbox-row.tsx';
import { isSelectable, type Selection, toggle, toggleAll } from './selection.ts';

/** Until a row is shown, it is taken to be so high. */
const rowPx = { wide: 71, narrow: 207 } as const;
/** Rows beyond the edges of the window, so that scrolling finds them there. */
const overscan = 8;
/** Older sandboxes are asked for when so few rows are left. */
const rowsAhead = 40;
const narrow = matchMedia('(width < 52rem)');

interface SandboxTableProps {
  readonly sandboxes: readonly Sandbox[];
  /** Whether there may be more of them, which is not known yet. */
  readonly hasMore: boolean;
  readonly selection: Selection;
  readonly onSelect: (change: (selection: Selection) => Selection) => void;
  readonly onAction: (action: SandboxAction, sandbox: Sandbox) => void;
  /** Told whether the end of the list is near. */
  readonly onNearEnd: (isNear: boolean) => void;
}

/** The list as a table, and as cards on a narrow screen. Only the rows in the window exist. */
export function SandboxTable({ sandboxes, hasMore, selection, onSelect, onAction, onNearEnd }: SandboxTableProps) {
  const { data: account } = useQuery(accountQuery);
  const body = useRef<HTMLTableSectionElement>(null);
  const { virtualizer, before, after } = useRows(sandboxes, body);
  const rows = virtualizer.getVirtualItems();
  const last = rows.at(-1)?.index ?? 0;
  const isNearEnd = last >= sandboxes.length - rowsAhead;
  useEffect(() => onNearEnd(isNearEnd), [isNearEnd, onNearEnd]);

  const selectable = useMemo(() => sandboxes.filter(isSelectable).map(({ id }) => id), [sandboxes]);
  const selectRow = useCallback(
    (id: string, isRange: boolean) => onSelect((before) => toggle(before, id, selectable, isRange)),
    [onSelect, selectable],
  );
  return (
    <div className="table-box">
      <table className="table long" aria-label="Sandboxes" aria-rowcount={hasMore ? -1 : sandboxes.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            <td className="check max-md:hidden">
              <SelectAll selectable={selectable} selection={selection} onSelect={onSelect} />
            </td>
            <th scope="col">Sandbox</th>
            <th scope="col" className="w-28">
              Status
            </th>
            <th scope="col" className="w-33">
              Size
            </th>
            <th scope="col" className="w-30 md:max-lg:hidden">
              Created
            </th>
            <th scope="col" className="w-50 lg:w-62">
              Time left
            </th>
            <th scope="col" className="end w-24">
              Cost
            </th>
            <th scope="col" className="menu">
              <span className="sr-only">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody ref={body}>
          {before > 0 && <Spacer heightPx={before} />}
          {rows.map(({ index, key }) => {
            const sandbox = sandboxes[index];
            return (
              sandbox && (
                <SandboxRow
                  key={key}
                  sandbox={sandbox}
                  index={index}
                  prices={account?.pricing_usd_per_hour}
                  isSelected={selection.ids.has(sandbox.id)}
                  onSelect={selectRow}
                  onAction={onAction}
                  measure={virtualizer.measureElement}
                />
              )
            );
          })}
          {after > 0 && <Spacer heightPx={after} />}
        </tbody>
      </table>
    </div>
  );
}

/** Stands for the rows that do not exist at the moment. */
function Spacer({ heightPx }: { readonly heightPx: number }) {
  return (
    <tr aria-hidden className="spacer" style={{ height: heightPx }}>
      <td colSpan={8} />
    </tr>
  );
}

/** Which rows exist, and how high the space before and after them is. */
function useRows(sandboxes: readonly Sandbox[], body: RefObject<HTMLTableSectionElement | null>) {
  const isNarrow = useSyncExternalStore(onWidth, () => narrow.matches);
  const [scrollMargin, setScrollMargin] = useState(0);
  const virtualizer = useWindowVirtualizer<HTMLTableRowElement>({
    count: sandboxes.length,
    estimateSize: () => (isNarrow ? rowPx.narrow : rowPx.wide),
    getItemKey: (index) => sandboxes[index]?.id ?? index,
    overscan,
    scrollMargin,
    useFlushSync: false,
  });
  // What is above the table can grow. While one scrolls, measuring it would cost a layout for every frame.
  useLayoutEffect(() => {
    if (virtualizer.isScrolling) return;
    const topPx = body.current ? Math.round(body.current.getBoundingClientRect().top + scrollY) : 0;
    setScrollMargin(topPx);
  });
  // Cards have other heights than rows.
  useEffect(() => virtualizer.measure(), [isNarrow, virtualizer]);
  const rows = virtualizer.getVirtualItems();
  const [first, last] = [rows[0], rows.at(-1)];
  return {
    virtualizer,
    before: first ? Math.max(0, first.start - scrollMargin) : 0,
    after: last ? Math.max(0, virtualizer.getTotalSize() - (last.end - scrollMargin)) : 0,
  };
}

function onWidth(listener: () => void): () => void {
  narrow.addEventListener('change', listener);
  return () => narrow.removeEventListener('change', listener);
}

interface SelectAllProps {
  readonly selectable: readonly string[];
  readonly selection: Selection;
  readonly onSelect: SandboxTableProps['onSelect'];
}

function SelectAll({ selectable, selection, onSelect }: SelectAllProps) {
  const count = selectable.filter((id) => selection.ids.has(id)).length;
  return (
    <Checkbox
      label="Select all that are shown"
      isChecked={count > 0 && count === selectable.length}
      isMixed={count > 0 && count < selectable.length}
      isDisabled={selectable.length === 0}
      onToggle={() => onSelect((before) => toggleAll(before, selectable))}
    />
  );
}
