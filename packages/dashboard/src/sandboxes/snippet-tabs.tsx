import { useState } from 'react';
import { Code } from '../parts/code.tsx';
import { Segments } from '../parts/segments.tsx';
import { languages, type SnippetLanguage, type Snippets } from './snippets.ts';

interface SnippetTabsProps {
  readonly snippets: Snippets;
  /** What the code does: "creates a sandbox". */
  readonly what: string;
}

/** The same in every language, of which one is shown. */
export function SnippetTabs({ snippets, what }: SnippetTabsProps) {
  const [language, setLanguage] = useState<SnippetLanguage>('curl');
  const shown = snippets[language];
  return (
    <div>
      <div className="mb-2.5">
        <Segments
          label={`Language of the code that ${what}`}
          value={language}
          options={languages.map((value) => ({ value, label: snippets[value].label }))}
          onChoose={setLanguage}
        />
      </div>
      <Code source={shown.source} language={shown.language} label={`Code for ${shown.label} that ${what}`} />
    </div>
  );
}
