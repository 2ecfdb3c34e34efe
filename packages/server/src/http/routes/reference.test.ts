import { createHash } from 'node:crypto';
import { defaultLimits, errorTypes, type OpenApiDocument } from '@mayfly/contract';
import { expect, test } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import { renderReference } from '../reference/page.ts';

test('the OpenAPI document needs no key, allows any origin and contains the configured limits', async () => {
  await using service = await stubService(undefined, { MAYFLY_LIMIT_COMMAND_CHARACTERS: '33' });
  const response = await service.app.inject({ url: '/openapi.json', headers: { 'x-request-id': 'mine' } });
  expect(response.statusCode).toBe(200);
  expect(response.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'access-control-allow-origin': '*',
    'x-request-id': 'mine',
  });
  const document = response.json<OpenApiDocument>();
  expect(document.servers).toEqual([{ url: 'http://localhost/v1' }]);
  const body = document.paths['/sandboxes/{id}/exec']?.post?.requestBody?.content['application/json'].schema;
  expect(body?.properties?.command?.maxLength).toBe(33);
});

test('the page needs no key and its policy lets the browser load nothing', async () => {
  await using service = await stubService();
  const response = await service.app.inject('/docs');
  expect(response.statusCode).toBe(200);
  expect(response.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(response.headers['x-request-id']).toMatch(/^req_/);
  const style = /<style>(.*)<\/style>/s.exec(response.body)?.[1] ?? '';
  const policy = String(response.headers['content-security-policy']);
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain(`style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`);
  expect(policy).not.toContain('unsafe');
  expect(response.body).not.toMatch(/<script|<iframe|\ssrc=|\sstyle=|\son\w+=|@import|url\(/i);
});

const { page, json } = renderReference(defaultLimits, 'https://mayfly.example.com', 'https://TOKEN.example.com/');
const document = JSON.parse(json) as OpenApiDocument;

test('every link on the page has a target, and ids are unique', () => {
  const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const [, target = ''] of page.matchAll(/\shref="([^"]*)"/g)) {
    if (target.startsWith('#')) expect(['', ...ids]).toContain(target.slice(1));
    else expect(target).toMatch(/^(openapi\.json$|data:)/);
  }
});

/** The text of the code with this class in a part of the page. */
function codeIn(part: string, name: string): string | undefined {
  const [, code] = new RegExp(`<pre class="${name}".*?><code>(.*?)</code>`, 's').exec(part) ?? [];
  const text = code?.replaceAll(/<[^>]*>/g, '').trimEnd();
  return text?.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

test('the page shows the samples of every operation', () => {
  for (const operation of Object.values(document.paths).flatMap((item) => Object.values(item))) {
    const [, part = ''] = new RegExp(`id="${operation.operationId}">(.*?)</article>`, 's').exec(page) ?? [];
    const [curl, typescript] = operation['x-codeSamples'];
    expect(codeIn(part, 'shell')).toBe(curl?.source);
    expect(codeIn(part, 'typescript')).toBe(typescript?.source);
  }
});

test('one choice of a language, which has a name, applies to all samples', () => {
  expect(page.match(/<input [^>]*>/g)).toEqual([
    '<input type="radio" name="language" id="language-shell" aria-label="curl" checked>',
    '<input type="radio" name="language" id="language-typescript" aria-label="TypeScript">',
  ]);
  expect(page).toContain('<legend>Language of the samples</legend>');
  const labels = [...page.matchAll(/<label for="([^"]*)">/g)].map(([, target]) => target);
  expect(new Set(labels)).toEqual(new Set(['language-shell', 'language-typescript']));
  const shown = page.match(/<div class="samples">/g)?.length ?? 0;
  expect(labels.length).toBe(2 * (shown + 1));
});

test('the quick start has curl, TypeScript and the command line', () => {
  const [, part = ''] = /id="start">(.*?)<\/section>/s.exec(page) ?? [];
  expect(codeIn(part, 'shell')).toContain('curl -X POST https://mayfly.example.com/v1/sandboxes');
  expect(codeIn(part, 'typescript')).toContain("new Mayfly({ baseUrl: 'https://mayfly.example.com' })");
  expect(codeIn(part, 'code')).toBe('mayfly run "uname -a"');
});

test('the page shows every operation, field and error of the document', () => {
  for (const item of Object.values(document.paths)) {
    for (const { operationId, summary } of Object.values(item)) {
      expect(page).toContain(`id="${operationId}"`);
      expect(page).toContain(summary);
    }
  }
  for (const { properties = {} } of Object.values(document.components.schemas)) {
    for (const name of Object.keys(properties)) expect(page).toContain(`<code class="name">${name}</code>`);
  }
  for (const type of errorTypes) expect(page).toContain(`id="error-${type}"`);
  expect(page).toContain('curl -X POST https://mayfly.example.com/v1/sandboxes');
  expect(page).toContain('https://TOKEN.example.com/');
});
