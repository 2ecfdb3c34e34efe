import { Plus } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button } from '../parts/button.tsx';
import type { Filter } from './filter.ts';
import { isNarrowed, type ListSearch } from './list-search.ts';
import { SnippetTabs } from './snippet-tabs.tsx';
import { firstSandboxSnippets } from './snippets.ts';

/** What an empty list says. */
const nothing: Readonly<Record<Filter, string>> = {
  current: 'No sandbox at the moment.',
  running: 'No sandbox is running.',
  failed: 'No sandbox has failed. Good.',
  ended: 'No sandbox has ended yet.',
  all: 'There has been no sandbox yet.',
};

interface EmptyListProps {
  readonly search: ListSearch;
  readonly onCreate: () => void;
  readonly onClear: () => void;
}

/** Why nothing is shown, and what to do about it. */
export function EmptyList({ search, onCreate, onClear }: EmptyListProps) {
  const { status = 'current' } = search;
  if (isNarrowed(search)) {
    return (
      <Box text="No sandbox matches.">
        <Button className="mt-4" onClick={onClear}>
          Clear the search
        </Button>
      </Box>
    );
  }
  return (
    <Box text={nothing[status]}>
      {(status === 'current' || status === 'all') && (
        <div className="mt-4 max-w-2xl">
          <Button icon={<Plus size={17} aria-hidden />} onClick={onCreate}>
            Create one here
          </Button>
          <p className="mt-6 mb-3 text-soft">Or from a terminal or a program; it appears here by itself.</p>
          <SnippetTabs snippets={firstSandboxSnippets({ origin: location.origin })} what="creates a sandbox" />
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
