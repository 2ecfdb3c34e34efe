import { ChevronRight } from 'lucide-react';
import { SnippetTabs } from '../snippet-tabs.tsx';
import { callSnippets, type NewSandbox } from './call.ts';

/** What is being filled in, as a call that a program or a terminal can make. */
export function CallCode({ wanted }: { readonly wanted: NewSandbox }) {
  return (
    <details open className="group">
      <summary className="inline-flex list-none items-center gap-1.5 rounded-md text-sm font-medium [&::-webkit-details-marker]:hidden">
        <ChevronRight size={15} aria-hidden className="text-soft transition-transform group-open:rotate-90" />
        The same as code
      </summary>
      <div className="mt-2.5">
        <SnippetTabs snippets={callSnippets(wanted, location.origin)} what="creates this sandbox" />
      </div>
    </details>
  );
}
