import { expect, test } from 'vitest';
import { html, jsonCode, prose } from './html.ts';
import { curlOf } from './sections.ts';

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

test('the curl command quotes every example', () => {
  const parameter = { name: 'id', in: 'path', required: true, schema: {}, example: 'a b/c' } as const;
  const query = { name: 'path', in: 'query', required: true, schema: {}, example: "it's" } as const;
  const operation = {
    operationId: 'x',
    tags: ['T'],
    summary: '',
    parameters: [],
    responses: {},
    requestBody: { required: true, content: { 'application/json': { schema: {}, example: { command: "echo 'hi'" } } } },
  } as const;
  const call = { serverUrl: 'http://h/v1', method: 'PUT', path: '/s/{id}', operation, parameters: [parameter, query] };
  expect(curlOf(call)).toBe(
    [
      String.raw`curl -X PUT 'http://h/v1/s/a%20b%2Fc?path=it'\''s' \
  -H "Authorization: Bearer $MAYFLY_API_KEY" \
  -d '{
    "command": "echo '\''hi'\''"
  }'`,
    ].join(''),
  );
});
