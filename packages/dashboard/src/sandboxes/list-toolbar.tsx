import { sizeNames } from '@mayfly/contract';
import { useNavigate } from '@tanstack/react-router';
import { ArrowUpDown, Search, X } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Segments } from '../parts/segments.tsx';
import { Select } from '../parts/select.tsx';
import { type Filter, filters } from './filter.ts';
import { type Age, ages, type ListSearch, type Order, orders, withChange } from './list-search.ts';

const statusLabels: Readonly<Record<Filter, string>> = {
  current: 'Current',
  running: 'Running',
  failed: 'Failed',
  ended: 'Ended',
  all: 'All',
};
const ageLabels: Readonly<Record<Age, string>> = {
  'under-1h': 'Under 1 h old',
  'under-24h': 'Under 24 h old',
  'over-1h': 'Over 1 h old',
  'over-24h': 'Over 24 h old',
};
const orderLabels: Readonly<Record<Order, string>> = {
  newest: 'Newest first',
  oldest: 'Oldest first',
  ending: 'Ending soonest',
  name: 'By name',
  cost: 'Highest cost',
};
const sizeOptions = [
  { value: 'any', label: 'Any size' },
  ...sizeNames.map((value) => ({ value, label: value.replace(/^./, (first) => first.toUpperCase()) })),
] as const;
const ageOptions = [
  { value: 'any', label: 'Any age' },
  ...ages.map((value) => ({ value, label: ageLabels[value] })),
] as const;
const orderOptions = orders.map((value) => ({ value, label: orderLabels[value] }));
const statusOptions = filters.map((value) => ({ value, label: statusLabels[value] }));

/** Every keystroke would be a navigation; the list itself follows at once. */
const typingMs = 150;

interface ListToolbarProps {
  readonly search: ListSearch;
  /** What is searched for, which the address follows. */
  readonly typed: string;
  readonly onType: (typed: string) => void;
}

/** What the list shows and in which order. All of it is in the address. */
export function ListToolbar({ search, typed, onType }: ListToolbarProps) {
  const navigate = useNavigate({ from: '/sandboxes' });
  const change = (part: Parameters<typeof withChange>[1]) =>
    void navigate({ search: (current) => withChange(current, part), replace: true });
  return (
    <div className="mb-4 flex flex-wrap items-center gap-2">
      <SearchField search={search} typed={typed} onType={onType} />
      <Segments
        label="Which sandboxes are shown"
        value={search.status ?? 'current'}
        options={statusOptions}
        onChoose={(status) => change({ status })}
      />
      <div className="flex gap-2 max-sm:w-full lg:ml-auto">
        <Select
          label="Size"
          value={search.size ?? 'any'}
          options={sizeOptions}
          onChoose={(size) => change({ size: size === 'any' ? undefined : size })}
        />
        <Select
          label="Age"
          value={search.age ?? 'any'}
          options={ageOptions}
          onChoose={(age) => change({ age: age === 'any' ? undefined : age })}
        />
        <Select
          label="Order"
          icon={<ArrowUpDown size={14} aria-hidden />}
          value={search.sort ?? 'newest'}
          options={orderOptions}
          onChoose={(sort) => change({ sort })}
        />
      </div>
    </div>
  );
}

function SearchField({ search, typed, onType }: ListToolbarProps) {
  const navigate = useNavigate({ from: '/sandboxes' });
  const field = useRef<HTMLInputElement>(null);
  const [inAddress, setInAddress] = useState(search.q);
  const text = search.q ?? '';
  if (inAddress !== search.q) {
    setInAddress(search.q);
    // While somebody types, the field is ahead of the address.
    if (document.activeElement !== field.current) onType(text);
  }
  useEffect(() => {
    if (typed.trim() === text.trim()) return;
    const timer = setTimeout(
      () => void navigate({ search: (current) => withChange(current, { q: typed }), replace: true }),
      typingMs,
    );
    return () => clearTimeout(timer);
  }, [typed, text, navigate]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping =
        event.target instanceof Element && event.target.closest('input, textarea, select, [contenteditable]') !== null;
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
      if (document.querySelector('dialog[open]') !== null) return;
      event.preventDefault();
      field.current?.focus();
      field.current?.select();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return (
    <div className="relative w-full sm:w-64">
      <Search size={16} aria-hidden className="pointer-events-none absolute top-2.5 left-3 text-soft" />
      <input
        ref={field}
        type="search"
        aria-label="Search by name or id"
        aria-keyshortcuts="/"
        placeholder="Name or id"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        value={typed}
        onChange={(event) => onType(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onType('');
        }}
        className="input !h-9 pr-9 pl-9 [&::-webkit-search-cancel-button]:hidden !text-[max(1rem,0.875rem)] sm:!text-[0.875rem]"
      />
      {typed === '' ? (
        <kbd
          aria-hidden
          className="pointer-events-none absolute top-2 right-2.5 hidden h-5 min-w-5 place-items-center rounded-sm border border-line font-sans text-[0.72rem] text-soft md:grid"
        >
          /
        </kbd>
      ) : (
        <button
          type="button"
          aria-label="Clear the search"
          onClick={() => {
            onType('');
            field.current?.focus();
          }}
          className="absolute inset-y-0 right-0 grid w-9 place-items-center rounded-md text-soft hover:text-ink"
        >
          <X size={15} aria-hidden />
        </button>
      )}
    </div>
  );
}
