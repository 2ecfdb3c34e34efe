import { ChevronRight } from 'lucide-react';
import { useState } from 'react';
import { Code } from '../../parts/code.tsx';
import { Segments } from '../../parts/segments.tsx';
import { languages, type SnippetLanguage } from '../snippets.ts';
import { callSnippets, type NewSandbox } from './call.ts';

/** What is being filled in, as a call that a program or a terminal can make. */
export function CallCode({ wanted }: { readonly wanted: NewSandbox }) {
  const [language, setLanguage] = useState<SnippetLanguage>('curl');
  const snippets = callSnippets(wanted, location.origin);
  const shown = snippets[language];
  return (
    <details open className="group">
      <summary className="inline-flex list-none items-center gap-1.5 rounded-md text-sm font-medium [&::-webkit-details-marker]:hidden">
        <ChevronRight size={15} aria-hidden className="text-soft transition-transform group-open:rotate-90" />
        The same as code
      </summary>
      <div className="mt-2.5 mb-2">
        <Segments
          label="Language of the call"
          value={language}
          options={languages.map((value) => ({ value, label: snippets[value].label }))}
          onChoose={setLanguage}
        />
      </div>
      <Code source={shown.source} language={shown.language} label={`The call with ${shown.label}`} />
    </details>
  );
}
