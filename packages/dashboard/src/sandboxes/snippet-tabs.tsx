import { useState } from 'react';
import { Code } from '../parts/code.tsx';
import { Segments } from '../parts/segments.tsx';
import { firstSandboxSnippets, languages, type SnippetLanguage } from './snippets.ts';

/** How to create a sandbox from outside of this page, with the address of this service. */
export function SnippetTabs() {
  const [language, setLanguage] = useState<SnippetLanguage>('curl');
  const snippets = firstSandboxSnippets(location.origin);
  const shown = snippets[language];
  return (
    <div>
      <div className="mb-2.5">
        <Segments
          label="Language of the example"
          value={language}
          options={languages.map((value) => ({ value, label: snippets[value].label }))}
          onChoose={setLanguage}
        />
      </div>
      <Code source={shown.source} language={shown.language} label={`${shown.label} example`} />
    </div>
  );
}
