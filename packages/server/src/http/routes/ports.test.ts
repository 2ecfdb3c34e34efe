import { closedPortSchema, portListSchema, portSchema } from '@mayfly/contract';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';

let service: Awaited<ReturnType<typeof stubService>>;
beforeEach(async () => {
  service = await stubService();
});
afterEach(() => service[Symbol.asyncDispose]());

const create = async () => (await service.call('POST', '/v1/sandboxes')).body.id;
const open = (id: string, port: unknown) => service.call('POST', `/v1/sandboxes/${id}/ports`, { port });
const list = async (id: string) => portListSchema.parse((await service.call('GET', `/v1/sandboxes/${id}/ports`)).body);

test('exposing a port returns a URL with an unguessable token, and the same URL when repeated', async () => {
  const id = await create();
  const first = await open(id, 3000);
  expect(first.status).toBe(201);
  const port = portSchema.parse(first.body);
  expect(port).toMatchObject({ object: 'port', sandbox_id: id, port: 3000 });
  expect(port.url).toMatch(/^https:\/\/[a-z2-7]{32}\.localhost:8443\/$/);
  const again = await open(id, 3000);
  expect([again.status, portSchema.parse(again.body)]).toEqual([201, port]);
  const other = await create();
  expect(portSchema.parse((await open(other, 3000)).body).url).not.toBe(port.url);
});

test('simultaneous requests for one port get the same URL', async () => {
  const id = await create();
  const answers = await Promise.all(Array.from({ length: 10 }, () => open(id, 80)));
  expect(new Set(answers.map(({ body }) => portSchema.parse(body).url)).size).toBe(1);
});

test('open ports are listed oldest first; a closed one disappears and gets a new URL when exposed again', async () => {
  const id = await create();
  for (const port of [9000, 80, 5173]) {
    await open(id, port);
    service.clock.advanceMs(1);
  }
  const before = await list(id);
  expect(before.data.map(({ port }) => port)).toEqual([9000, 80, 5173]);
  const closed = await service.call('DELETE', `/v1/sandboxes/${id}/ports/80`);
  expect([closed.status, closedPortSchema.parse(closed.body)]).toEqual([
    200,
    { object: 'port', sandbox_id: id, port: 80, deleted: true },
  ]);
  expect((await list(id)).data.map(({ port }) => port)).toEqual([9000, 5173]);
  expect((await service.call('DELETE', `/v1/sandboxes/${id}/ports/80`)).status).toBe(404);
  expect(portSchema.parse((await open(id, 80)).body).url).not.toBe(before.data[1]?.url);
});

test.each([[0], [65_536], [80.5], ['80'], [null], [undefined]])('refuses port %j', async (port) => {
  const id = await create();
  const answer = await open(id, port);
  expect([answer.status, answer.body.error.message]).toEqual([400, 'port must be an integer from 1 to 65535']);
});

test.each(['0', '65536', 'http', '1.5', '%20'])('refuses to close port %s', async (port) => {
  const id = await create();
  expect((await service.call('DELETE', `/v1/sandboxes/${id}/ports/${port}`)).status).toBe(400);
});

test('a sandbox that is not running has no ports, and a deleted one has no list of them', async () => {
  const failed = await create();
  await open(failed, 80);
  service.driver.newest.die('killed by SIGKILL');
  await service.core.background.idle();
  expect((await list(failed)).data).toEqual([]);
  const id = await create();
  await open(id, 80);
  await service.call('DELETE', `/v1/sandboxes/${id}`);
  expect((await service.call('GET', `/v1/sandboxes/${id}/ports`)).status).toBe(404);
  expect((await open(id, 80)).status).toBe(404);
  expect((await service.call('DELETE', `/v1/sandboxes/${id}/ports/80`)).status).toBe(404);
  expect((await service.call('GET', '/v1/sandboxes/sbx_none/ports')).status).toBe(404);
});

test.each(['provisioning', 'failed', 'deleting'])(
  'a sandbox that is %s has no ports, and none can be exposed or closed',
  async (status) => {
    await using stuck = await stubService({ teardownMs: 50 });
    const released = Promise.withResolvers<void>();
    if (status === 'provisioning') stuck.driver.beforeLaunched = () => released.promise;
    const created = stuck.call('POST', '/v1/sandboxes');
    const listed = () => stuck.call('GET', '/v1/sandboxes');
    await expect.poll(async () => (await listed()).body.data).toHaveLength(1);
    if (status !== 'provisioning') {
      const { id } = (await created).body;
      await stuck.call('POST', `/v1/sandboxes/${id}/ports`, { port: 80 });
      stuck.driver.newest.beforeDestroyed = () => released.promise;
      if (status === 'failed') stuck.driver.newest.die('killed by SIGKILL');
      else expect((await stuck.call('DELETE', `/v1/sandboxes/${id}`)).status).toBe(202);
    }
    await expect.poll(async () => (await listed()).body.data[0]?.status).toBe(status);
    const path = `/v1/sandboxes/${(await listed()).body.data[0]?.id}/ports`;
    const seen = await stuck.call('GET', path);
    expect([seen.status, portListSchema.parse(seen.body).data]).toEqual([200, []]);
    for (const refused of [await stuck.call('POST', path, { port: 80 }), await stuck.call('DELETE', `${path}/80`)]) {
      expect([refused.status, refused.body.error.type]).toEqual([404, 'not_found']);
      expect(refused.body.error.message).toContain(status);
    }
    released.resolve();
    await created;
  },
);
