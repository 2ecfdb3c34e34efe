import { type Html, html } from './html.ts';

const jsonToken = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?/g;

/** A value as indented JSON with its parts marked for colour. */
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

/** Lines to type into a shell. */
export function shellCode(text: string): Html {
  return codeBlock(html`${text}`, 'shell');
}

/** Code in a box that can be scrolled, with the keyboard too. */
export function codeBlock(code: Html, label: string): Html {
  return html`<pre class="${label.toLowerCase()}" tabindex="0" role="region" aria-label="${label} example"><code>${code}</code></pre>`;
}
