/** A piece of HTML in which every inserted value is escaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = Html | readonly Html[] | string | number | false | undefined;

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** HTML from a template. Values are escaped unless they are Html; false and undefined render as nothing. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(strings.map((string, index) => string + textOf(values[index])).join(''));
}

function textOf(value: Value): string {
  if (value === undefined || value === false) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map((part) => part.text).join('');
  return String(value).replaceAll(/[&<>"']/g, (character) => escapes[character] ?? '');
}

/** Text in which backquotes mark code. */
export function prose(text: string): Html {
  const parts = text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
  return html`${parts}`;
}

const jsonToken = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?/g;

/** A value as indented JSON with syntax highlighting. */
export function jsonCode(value: unknown): Html {
  const text = JSON.stringify(value, null, 2);
  const parts: Html[] = [];
  let end = 0;
  for (const match of text.matchAll(jsonToken)) {
    const [token, string, colon] = match;
    parts.push(html`${text.slice(end, match.index)}`);
    const kind = string === undefined ? 'literal' : colon === undefined ? 'string' : 'key';
    parts.push(html`<span class="${kind}">${string ?? token}</span>${colon}`);
    end = match.index + token.length;
  }
  parts.push(html`${text.slice(end)}`);
  return codeBlock(html`${parts}`, 'JSON');
}

export function shellCode(text: string): Html {
  return codeBlock(html`${text}`, 'shell');
}

/** Code in a box that can be scrolled with the keyboard. */
export function codeBlock(code: Html, label: string): Html {
  return html`<pre class="${label.toLowerCase()}" tabindex="0" role="region" aria-label="${label} example"><code>${code}</code></pre>`;
}
