import type { CodeSample } from '@mayfly/contract';
import { type Html, html, shellCode, typescriptCode } from './html.ts';

/** The languages of samples. The first is shown unless the reader chooses another. */
const languages = ['Shell', 'TypeScript'] as const satisfies readonly CodeSample['lang'][];

const renderers: Readonly<Record<CodeSample['lang'], (source: string) => Html>> = {
  Shell: shellCode,
  TypeScript: typescriptCode,
};

/** The choice of a language for the whole page, at its top. The labels of the samples are further labels of its radio buttons. */
export function renderLanguageChoice(samples: readonly CodeSample[]): Html {
  const options = languages.map((lang, index) => {
    const label = samples.find((sample) => sample.lang === lang)?.label;
    return html`
      <input type="radio" name="language" id="${idOf(lang)}" aria-label="${label}"${index === 0 && html` checked`}>
      <label for="${idOf(lang)}">${label}</label>`;
  });
  return html`
  <fieldset class="tabs">
    <legend>Language of the samples</legend>${options}
  </fieldset>`;
}

/** The same program in several languages, of which the one that was chosen is visible. */
export function renderSamples(samples: readonly CodeSample[], title?: string): Html {
  const labels = samples.map(({ lang, label }) => html`<label for="${idOf(lang)}">${label}</label>`);
  return html`
    <div class="samples">
      <div class="bar">
        ${title !== undefined && html`<p class="label">${title}</p>`}
        <div class="tabs">${labels}</div>
      </div>
      ${samples.map(({ lang, source }) => renderers[lang](source))}
    </div>`;
}

function idOf(lang: CodeSample['lang']): string {
  return `language-${lang.toLowerCase()}`;
}
