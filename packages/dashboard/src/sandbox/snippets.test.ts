import { expect, test } from 'vitest';
import { connectSnippets, languages } from './snippets.ts';

test.each(languages)('the example for %s names the sandbox', (language) => {
  expect(connectSnippets('https://mayfly.example.com', 'sbx_q2m7')[language].source).toContain('sbx_q2m7');
});
