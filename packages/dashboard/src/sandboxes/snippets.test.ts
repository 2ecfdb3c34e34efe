import { expect, test } from 'vitest';
import { firstSandboxSnippets, languages, tryKeyWithCurl } from './snippets.ts';

test('every snippet has the address of this service', () => {
  const snippets = firstSandboxSnippets('https://mayfly.example.com');
  for (const language of languages) expect(snippets[language].source).toContain('https://mayfly.example.com');
});

test('the line for a new key needs no changes', () => {
  expect(tryKeyWithCurl('http://localhost:8080', 'mf_secret')).toBe(
    'curl http://localhost:8080/v1/account \\\n  -H "Authorization: Bearer mf_secret"',
  );
});
