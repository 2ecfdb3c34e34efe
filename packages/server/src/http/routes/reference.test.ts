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
