import type { Sandbox } from '@mayfly/contract';
import { useState } from 'react';
import { Code } from '../parts/code.tsx';
import { Segments } from '../parts/segments.tsx';
import { connectSnippets, languages, type SnippetLanguage } from './snippets.ts';

/** How to use this sandbox from a terminal or a program. */
export function Connect({ sandbox: { id } }: { readonly sandbox: Sandbox }) {
  const [language, setLanguage] = useState<SnippetLanguage>('cli');
  const snippets = connectSnippets(location.origin, id);
  const shown = snippets[language];
  return (
    <section aria-labelledby="connect">
      <div className="mb-3 flex flex-wrap items-center justify-between gap-3">
        <h2 id="connect" className="text-base font-semibold">
          Connect to it
        </h2>
        <Segments
          label="How to connect"
          value={language}
          options={languages.map((value) => ({ value, label: snippets[value].label }))}
          onChoose={setLanguage}
        />
      </div>
      <Code source={shown.source} language={shown.language} label={`${shown.label} example`} />
    </section>
  );
}
