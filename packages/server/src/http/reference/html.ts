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

const jsonToken = /("(?:[^"\\]|\\.)*")(?=(\s*:)?)|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?/g;

/** A value as indented JSON with syntax highlighting. */
export function jsonCode(value: unknown): Html {
  const code = highlight(JSON.stringify(value, null, 2), jsonToken, ([, string, colon]) => {
    if (string === undefined) return 'literal';
    return colon === undefined ? 'string' : 'key';
  });
  return codeBlock(code, 'JSON');
}

export function shellCode(text: string): Html {
  return codeBlock(
    codeLines(text, (line) => html`${line}`),
    'shell',
  );
}

const typescriptToken =
  /(\/\/.*)|('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)|\b(await|const|for|from|import|new|of)\b|\b(?:true|false|null|\d[\d_]*)\b/g;

/** TypeScript with syntax highlighting. Strings and comments end on the line on which they begin. */
export function typescriptCode(text: string): Html {
  return codeBlock(codeLines(text, highlightTypescript), 'TypeScript');
}

function highlightTypescript(line: string): Html {
  return highlight(line, typescriptToken, ([, comment, string, keyword]) => {
    if (comment !== undefined) return 'comment';
    if (string !== undefined) return 'string';
    return keyword === undefined ? 'literal' : 'keyword';
  });
}

/** Text in which each match is marked with the class that `classOf` returns. */
function highlight(text: string, token: RegExp, classOf: (match: RegExpExecArray) => string): Html {
  const parts: Html[] = [];
  let end = 0;
  for (const match of text.matchAll(token)) {
    parts.push(html`${text.slice(end, match.index)}<span class="${classOf(match)}">${match[0]}</span>`);
    end = match.index + match[0].length;
  }
  return html`${parts}${text.slice(end)}`;
}

/** One element per line, so that the rest of a line that is too long can be indented. */
function codeLines(text: string, render: (line: string) => Html): Html {
  return html`${text.split('\n').map((line) => html`<span class="line">${render(line)}\n</span>`)}`;
}

/** Code in a box that can be scrolled with the keyboard. */
export function codeBlock(code: Html, label: string): Html {
  return html`<pre class="${label.toLowerCase()}" tabindex="0" role="region" aria-label="${label} example"><code>${code}</code></pre>`;
}
