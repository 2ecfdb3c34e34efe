import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { dashboardPages } from '@mayfly/contract/dashboard';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import { chooseCoding, type PageFile, type PageFiles, readPageFiles } from './page-files.ts';

const script = 'console.log("Mayfly");\n'.repeat(50);
let folder: string;
let files: PageFiles | undefined;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-pages-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>Mayfly</title>');
  writeFileSync(join(folder, 'secret.txt'), 'not served');
  writeFileSync(join(folder, 'assets', 'main-1.js'), script);
  writeFileSync(join(folder, 'assets', 'main-1.js.br'), brotliCompressSync(script));
  writeFileSync(join(folder, 'assets', 'main-1.js.gz'), gzipSync(script));
  writeFileSync(join(folder, 'assets', 'logo-2.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
  files = readPageFiles(folder);
});
afterAll(() => rmSync(folder, { recursive: true }));

async function get(url: string, headers: Record<string, string> = {}, pages: PageFiles | undefined = files) {
  await using service = await stubService(undefined, {}, { pages });
  return await service.app.inject({ method: 'GET', url, headers });
}

/** The directives of the page's content security policy. */
async function policyOf(settings: NodeJS.ProcessEnv = {}): Promise<Readonly<Record<string, string>>> {
  await using service = await stubService(undefined, settings, { pages: files });
  const { headers } = await service.app.inject({ method: 'GET', url: '/' });
  const directives = String(headers['content-security-policy']).split('; ');
  return Object.fromEntries(directives.map((directive) => directive.split(/ (.*)/s) as [string, string]));
}

describe('the page', () => {
  test.each(dashboardPages)('is at %s', async (path) => {
    const { statusCode, body, headers } = await get(path);
    expect([statusCode, body]).toEqual([200, '<!doctype html><title>Mayfly</title>']);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
  });

  test('allows neither inline scripts nor other origins, and is in no frame', async () => {
    const { 'frame-src': _, ...policy } = await policyOf();
    expect(policy).toMatchObject({ 'default-src': "'none'", 'frame-ancestors': "'none'" });
    expect(Object.values(policy).join(' ')).not.toMatch(/unsafe|http|\*/);
    expect((await get('/')).headers).not.toHaveProperty('access-control-allow-origin');
  });

  test.each([
    [{}, 'https://*.localhost:8443'],
    [{ MAYFLY_PREVIEW_DOMAIN: 'preview.example.com' }, 'https://*.preview.example.com:8443'],
    [{ MAYFLY_PREVIEW_DOMAIN: 'preview.example.com', MAYFLY_PREVIEW_PORT: '443' }, 'https://*.preview.example.com'],
  ])('with the settings %j it shows frames of %s only', async (settings, source) => {
    expect((await policyOf(settings))['frame-src']).toBe(source);
  });

  test('is not there until it is built', async () => {
    await using service = await stubService();
    const { statusCode, body, headers } = await service.app.inject({ method: 'GET', url: '/' });
    expect(statusCode).toBe(503);
    expect(body).toContain('The dashboard is not built. Run npm start.');
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(readPageFiles(join(folder, 'assets'))).toBeUndefined();
  });

  test('is sent again only if it has changed', async () => {
    const { etag } = (await get('/')).headers;
    expect(await get('/', { 'if-none-match': String(etag) })).toMatchObject({ statusCode: 304, body: '' });
  });
});

describe('its files', () => {
  test('are sent with their type, for ever, and as small as the client accepts', async () => {
    const plain = await get('/assets/main-1.js');
    expect(plain.body).toBe(script);
    expect(plain.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'Accept-Encoding',
    });
    expect(plain.headers).not.toHaveProperty('content-encoding');
    const br = await get('/assets/main-1.js', { 'accept-encoding': 'gzip, deflate, br' });
    expect([br.headers['content-encoding'], brotliDecompressSync(br.rawPayload).toString()]).toEqual(['br', script]);
    const gzip = await get('/assets/main-1.js', { 'accept-encoding': 'gzip, br;q=0' });
    expect([gzip.headers['content-encoding'], gunzipSync(gzip.rawPayload).toString()]).toEqual(['gzip', script]);
    expect((await get('/assets/logo-2.svg', { 'accept-encoding': 'br' })).headers).not.toHaveProperty(
      'content-encoding',
    );
  });

  test.each([
    '/assets/main-2.js',
    '/assets/main-1.js.br',
    '/assets/../secret.txt',
    '/assets/%2e%2e/secret.txt',
    '/assets/..%2fsecret.txt',
    '/secret.txt',
    '/index.html',
    '/assets/',
    '/keys/key_1',
    '/app',
  ])('%s is not one of them', async (path) => {
    const { statusCode, headers } = await get(path);
    expect([statusCode, headers['content-type']]).toEqual([404, 'application/json; charset=utf-8']);
  });
});

test('a coding is chosen by what is stored and accepted', () => {
  const body = Buffer.from('x');
  const both: PageFile = { contentType: '', etag: '', bodies: { identity: body, br: body, gzip: body } };
  const gzipOnly: PageFile = { ...both, bodies: { identity: body, gzip: body } };
  expect(chooseCoding(both, undefined)).toBe('identity');
  expect(chooseCoding(both, 'identity')).toBe('identity');
  expect(chooseCoding(both, '*')).toBe('br');
  expect(chooseCoding(both, 'br;q=0, *')).toBe('gzip');
  expect(chooseCoding(both, 'BR ; q=0.5')).toBe('br');
  expect(chooseCoding(gzipOnly, 'br')).toBe('identity');
  expect(chooseCoding(gzipOnly, 'br, gzip;q=0.000')).toBe('identity');
});
