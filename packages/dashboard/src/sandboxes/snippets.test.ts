import { expect, test } from 'vitest';
import { firstCommandSnippets, firstSandboxSnippets, languages, tryKeyWithCurl } from './snippets.ts';

const origin = 'https://mayfly.example.com';
const id = 'sbx_4w5pz2hq7m3kx6tn2ab7cdfe';

test('every first snippet has the address of this service', () => {
  const snippets = firstSandboxSnippets({ origin });
  for (const language of languages) expect(snippets[language].source).toContain(origin);
});

test('a key that was just made is in every first snippet, and no placeholder is', () => {
  const snippets = firstSandboxSnippets({ origin, key: 'mf_secret' });
  for (const language of languages) {
    expect(snippets[language].source).toContain('mf_secret');
    expect(snippets[language].source).not.toContain('$MAYFLY_API_KEY');
  }
});

test('every first command is for the sandbox', () => {
  const snippets = firstCommandSnippets({ origin, key: 'mf_secret' }, id);
  for (const language of languages) expect(snippets[language].source).toContain(id);
  expect(snippets.curl.source).toBe(
    [
      `curl -X POST ${origin}/v1/sandboxes/${id}/exec \\`,
      "  -H 'Authorization: Bearer mf_secret' \\",
      "  -H 'Content-Type: application/json' \\",
      `  -d '{"command":"echo \\"hello from $(uname -m)\\""}'`,
    ].join('\n'),
  );
});

test('the line for a new key needs no changes', () => {
  expect(tryKeyWithCurl('http://localhost:8080', 'mf_secret')).toBe(
    'curl http://localhost:8080/v1/account \\\n  -H "Authorization: Bearer mf_secret"',
  );
});
