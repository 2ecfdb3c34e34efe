import type { Sandbox } from '@mayfly/contract';
import { ClockPlus, Trash2, X } from 'lucide-react';
import { Button } from '../parts/button.tsx';

interface SelectionBarProps {
  readonly selected: readonly Sandbox[];
  readonly shownCount: number;
  readonly onSelectAll: () => void;
  readonly onClear: () => void;
  readonly onExtend: () => void;
  readonly onDelete: () => void;
}

/** What can be done with the selected sandboxes, above the lower edge of the window. */
export function SelectionBar({ selected, shownCount, onSelectAll, onClear, onExtend, onDelete }: SelectionBarProps) {
  const canExtend = selected.some(({ status }) => status === 'running');
  return (
    <section
      aria-label="Selected sandboxes"
      className="fixed inset-x-3 bottom-3 z-20 mx-auto flex max-w-fit animate-rise flex-wrap items-center justify-center gap-1.5 sm:gap-2 rounded-xl border border-line bg-float py-2 pr-2 pl-4 shadow-float md:bottom-5"
    >
      <p role="status" className="mr-1 text-sm font-medium whitespace-nowrap tabular-nums">
        {selected.length} selected
      </p>
      {selected.length < shownCount && (
        <Button look="quiet" className="max-sm:px-2" onClick={onSelectAll}>
          <span>
            <span className="max-sm:sr-only">Select all</span>
            <span aria-hidden className="sm:hidden">
              All
            </span>{' '}
            {shownCount}
          </span>
        </Button>
      )}
      <Button
        icon={<ClockPlus size={16} aria-hidden />}
        disabled={!canExtend}
        onClick={onExtend}
        className="max-sm:px-2.5"
      >
        <span className="max-sm:sr-only">Extend</span>
      </Button>
      <Button look="danger" icon={<Trash2 size={16} aria-hidden />} onClick={onDelete} className="max-sm:px-2.5">
        <span className="max-sm:sr-only">Delete</span>
      </Button>
      <button
        type="button"
        aria-label="Clear the selection"
        onClick={onClear}
        className="grid size-9 place-items-center rounded-md text-soft hover:bg-panel hover:text-ink"
      >
        <X size={17} aria-hidden />
      </button>
    </section>
  );
}
