import { sandboxSchema } from '@mayfly/contract';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';

let service: Awaited<ReturnType<typeof stubService>>;
beforeEach(async () => {
  service = await stubService();
});
afterEach(() => service[Symbol.asyncDispose]());

const create = async (body: object = {}) => (await service.call('POST', '/v1/sandboxes', body)).body;
const extend = (id: string, body?: unknown) => service.call('POST', `/v1/sandboxes/${id}/extend`, body);
const minutes = (count: number) => count * 60_000;

test('moves the expiry by 15 minutes by default and tells the agent', async () => {
  const { id, expires_at } = await create();
  const longer = await extend(id);
  expect(longer.status).toBe(200);
  expect(sandboxSchema.parse(longer.body)).toMatchObject({ status: 'running', timeout_minutes: 30 });
  const movedMs = Date.parse(longer.body.expires_at ?? '') - Date.parse(expires_at ?? '');
  expect(movedMs).toBe(minutes(15));
  expect((await extend(id, { additional_minutes: 5 })).body.timeout_minutes).toBe(35);
  await expect.poll(() => service.connector.expiries.at(-1)).toBe(Date.parse(expires_at ?? '') + minutes(20));
});

test('the expiry is clamped to 1440 minutes after creation', async () => {
  const { id, created_at } = await create({ timeout_minutes: 1000 });
  const { body } = await extend(id, { additional_minutes: 1440 });
  expect(body.timeout_minutes).toBe(1440);
  expect(Date.parse(body.expires_at ?? '')).toBeLessThanOrEqual(Date.parse(created_at) + minutes(1440));
  expect((await extend(id, { additional_minutes: 1 })).body.expires_at).toBe(body.expires_at);
});

test('simultaneous extensions all count', async () => {
  const { id } = await create();
  await Promise.all(Array.from({ length: 8 }, () => extend(id, { additional_minutes: 10 })));
  expect((await service.call('GET', `/v1/sandboxes/${id}`)).body.timeout_minutes).toBe(95);
});

test.each([[0], [1441], [1.5], ['15'], [true]])('refuses additional_minutes %j', async (additional_minutes) => {
  const { id } = await create();
  const answer = await extend(id, { additional_minutes });
  expect([answer.status, answer.body.error.type]).toEqual([400, 'invalid_request']);
  expect(answer.body.error.message).toBe('additional_minutes must be an integer from 1 to 1440');
});

test('404 for a deleted or unknown sandbox, 409 for a failed one', async () => {
  const { id } = await create();
  await service.call('DELETE', `/v1/sandboxes/${id}`);
  expect((await extend(id)).status).toBe(404);
  expect((await extend('sbx_none')).status).toBe(404);
  const { id: doomed } = await create();
  service.driver.newest.die('kernel panic');
  await expect.poll(async () => (await extend(doomed)).status).toBe(409);
});
