import { afterEach, beforeEach, expect, test } from 'vitest';
import { stubService } from '../../test/app/stub-service.ts';

let service: Awaited<ReturnType<typeof stubService>>;
beforeEach(async () => {
  service = await stubService();
});
afterEach(() => service[Symbol.asyncDispose]());

const fetchRoot = () => service.app.inject({ url: '/preview-root.crt' });

test('the root of previews can be had without a key', async () => {
  const pem = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  service.setPreviewRoot(pem);
  const answer = await fetchRoot();
  expect([answer.statusCode, answer.body]).toEqual([200, pem]);
  expect(answer.headers['content-type']).toBe('application/x-pem-file');
});

test('there is none with a certificate of the operator’s own', async () => {
  const answer = await fetchRoot();
  expect([answer.statusCode, answer.json()]).toMatchObject([404, { error: { type: 'not_found' } }]);
});
