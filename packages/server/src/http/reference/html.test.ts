import { expect, test } from 'vitest';
import { html, jsonCode, prose, shellCode, typescriptCode } from './html.ts';
import { renderSamples } from './samples.ts';

const hostile = `<script>alert("x")</script>&'`;
const escaped = '&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;&#39;';

test('values in a template are escaped exactly once', () => {
  expect(html`<p title="${hostile}">${html`<b>${hostile}</b>`}</p>`.text).toBe(
    `<p title="${escaped}"><b>${escaped}</b></p>`,
  );
  expect(html`${undefined}${false}${0}${[html`a`, html`b`]}`.text).toBe('0ab');
});

test('prose and code are escaped too', () => {
  expect(prose(`a \`${hostile}\` ${hostile}`).text).toBe(`a <code>${escaped}</code> ${escaped}`);
  expect(jsonCode({ [hostile]: hostile, n: -1.5, t: true }).text).not.toContain('<script>');
});

test('JSON is highlighted', () => {
  const { text } = jsonCode({ a: 'b: "c"', n: null });
  expect(text).toContain(
    '<span class="key">&quot;a&quot;</span>: <span class="string">&quot;b: \\&quot;c\\&quot;&quot;</span>',
  );
  expect(text).toContain('<span class="literal">null</span>');
});

test('TypeScript is highlighted and escaped', () => {
  const { text } = typescriptCode(`const a = await f('it\\'s <b>', 60_000); // const\n  g("x // y");`);
  expect(text).toContain('<span class="keyword">const</span> a = <span class="keyword">await</span> f(');
  expect(text).toContain('<span class="string">&#39;it\\&#39;s &lt;b&gt;&#39;</span>');
  expect(text).toContain('<span class="literal">60_000</span>');
  expect(text).toContain('<span class="comment">// const</span>');
  expect(text).toContain('<span class="string">&quot;x // y&quot;</span>');
  expect(typescriptCode(hostile).text).not.toContain('<script>');
  expect(shellCode(hostile).text).toContain(escaped);
});

test('code has the text that it was made of', () => {
  const source = "for await (const { id } of list('a')) {\n  console.log(id); // 1\n}";
  const text = typescriptCode(source)
    .text.replaceAll(/<[^>]*>/g, '')
    .replaceAll('&#39;', "'");
  expect(text).toBe(`${source}\n`);
});

test('samples have one label per language, and their code is escaped', () => {
  const { text } = renderSamples([
    { lang: 'Shell', label: 'curl', source: hostile },
    { lang: 'TypeScript', label: hostile, source: hostile },
  ]);
  expect(text).toContain('<label for="language-shell">curl</label>');
  expect(text).toContain(`<label for="language-typescript">${escaped}</label>`);
  expect(text).not.toContain('<script>');
});
