import { useInfiniteQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import type { ReactNode } from 'react';
import { sandboxesQuery } from '../api/queries.ts';
import { Button } from '../parts/button.tsx';
import type { Filter } from './filter.ts';
import { FirstSandbox } from './first-sandbox.tsx';
import { isNarrowed, type ListSearch } from './list-search.ts';
import { SnippetTabs } from './snippet-tabs.tsx';

/** What an empty list says. */
const nothing: Readonly<Record<Exclude<Filter, 'all'>, string>> = {
  current: 'No sandbox at the moment.',
  running: 'No sandbox is running.',
  failed: 'No sandbox has failed. Good.',
  ended: 'No sandbox has ended yet.',
};

interface EmptyListProps {
  readonly search: ListSearch;
  readonly onCreate: () => void;
  readonly onClear: () => void;
}

/** An account that never had a sandbox is shown the way to its first; one that has none at the moment, only the commands. */
export function EmptyList({ search, onCreate, onClear }: EmptyListProps) {
  const { status = 'current' } = search;
  const narrowed = isNarrowed(search);
  const everything = useInfiniteQuery({ ...sandboxesQuery(true), enabled: status === 'current' && !narrowed });
  if (narrowed) {
    return (
      <Box text="No sandbox matches.">
        <Button className="mt-4" onClick={onClear}>
          Clear the search
        </Button>
      </Box>
    );
  }
  if (status === 'all' || (status === 'current' && everything.data?.length === 0)) return <FirstSandbox />;
  if (status === 'current' && everything.isPending) return null;
  return (
    <Box text={nothing[status]}>
      {status === 'current' && (
        <div className="mt-4 max-w-2xl">
          <Button icon={<Plus size={17} aria-hidden />} onClick={onCreate}>
            Create one here
          </Button>
          <p className="mt-6 mb-3 text-soft">Or from a terminal or a program; it appears here by itself.</p>
          <SnippetTabs />
        </div>
      )}
    </Box>
  );
}

function Box({ text, children }: { readonly text: string; readonly children: ReactNode }) {
  return (
    <div className="animate-appear rounded-xl border border-line border-dashed px-6 py-10 md:px-10">
      <p className="text-base font-medium">{text}</p>
      {children}
    </div>
  );
}
