import { expect, test } from 'vitest';
import { defaultLimits } from '../limits.ts';
import { defineOperations } from '../operations/all-operations.ts';
import { curlOf } from './curl-sample.ts';
import { openApiDocument } from './document.ts';
import { typescriptOf } from './typescript-samples.ts';

const id = { name: 'id', in: 'path', required: true, schema: {}, example: 'a b/c' } as const;
const path = { name: 'path', in: 'query', required: true, schema: {}, example: "it's" } as const;
const body = (example: unknown) => ({ required: true, content: { 'application/json': { schema: {}, example } } });

test('the curl command quotes every example', () => {
  const requestBody = body({ command: "echo 'hi'" });
  const call = { method: 'PUT', path: '/s/{id}', parameters: [id, path], requestBody };
  expect(curlOf(call, 'http://h/v1')).toBe(
    String.raw`curl -X PUT 'http://h/v1/s/a%20b%2Fc?path=it'\''s' \
  -H "Authorization: Bearer $MAYFLY_API_KEY" \
  -d '{
    "command": "echo '\''hi'\''"
  }'`,
  );
});

test('TypeScript quotes every example', () => {
  const requestBody = body({ content: '"a"\n\\$id $path' });
  const call = { method: 'PUT', path: '/s/{id}', parameters: [id, path], requestBody };
  expect(typescriptOf('writeFile', call)).toBe(
    String.raw`const sandbox = await mayfly.sandboxes.get('a b/c');
await sandbox.files.write('it\'s', '"a"\n\\$id $path');`,
  );
});

test('an example that the document lacks is an error', () => {
  const call = { method: 'PUT', path: '/s/{id}', parameters: [id, path], requestBody: body({}) };
  expect(() => typescriptOf('writeFile', call)).toThrow('writeFile has no example of content');
});

test('every operation has a sample in each language, with the same examples', () => {
  const { paths } = openApiDocument({ limits: defaultLimits, publicUrl: 'http://h', previewUrl: 'https://p' });
  for (const operation of Object.values(defineOperations(defaultLimits))) {
    const samples = paths[operation.path]?.[operation.method.toLowerCase()]?.['x-codeSamples'] ?? [];
    expect(samples.map(({ lang, label }) => [lang, label])).toEqual([
      ['Shell', 'curl'],
      ['TypeScript', 'TypeScript'],
    ]);
    const ids = samples.map(({ source }) => [...source.matchAll(/\b(?:sbx|exec|snap)_\w+/g)].map(([one]) => one));
    expect(ids[0]).toEqual(ids[1]);
  }
});
