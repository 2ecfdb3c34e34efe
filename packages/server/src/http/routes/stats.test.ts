import { type ReceivedEvent, readEvents } from '@mayfly/contract/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';

let service: Awaited<ReturnType<typeof stubService>>;
let sandboxId: string;
beforeEach(async () => {
  service = await stubService();
  sandboxId = (await service.call('POST', '/v1/sandboxes')).body.id;
});
afterEach(async () => {
  service.core.streams.cutAll();
  service.app.server.closeAllConnections();
  await service[Symbol.asyncDispose]();
});

test('a running sandbox says what it uses; one that has ended cannot', async () => {
  const { status, body } = await service.call('GET', `/v1/sandboxes/${sandboxId}/stats`);
  expect(status).toBe(200);
  expect(body).toMatchObject({
    object: 'stats',
    sandbox_id: sandboxId,
    cpu: { count: 2, used_ms: 3_000 },
    memory: { total_bytes: 1_000, used_bytes: 400 },
    disk: { total_bytes: 2_000, used_bytes: 500 },
    network: { received_bytes: 10, sent_bytes: 20 },
    processes: 3,
  });
  await service.call('DELETE', `/v1/sandboxes/${sandboxId}`);
  expect((await service.call('GET', `/v1/sandboxes/${sandboxId}/stats`)).status).toBe(404);
});

test('a stream measures until the sandbox ends, and says how it ended', async () => {
  const url = await service.app.listen({ port: 0, host: '127.0.0.1' });
  const path = `/v1/sandboxes/${sandboxId}/stats/stream?interval_seconds=1`;
  const response = await fetch(`${url}${path}`, { headers: { authorization: 'Bearer mf_test_key' } });
  const events: ReceivedEvent[] = [];
  for await (const event of readEvents(response)) {
    events.push(event);
    if (events.length === 2) await service.call('DELETE', `/v1/sandboxes/${sandboxId}`);
  }
  expect(events.slice(0, 2).map(({ event, id }) => `${event} ${id}`)).toEqual(['stats 1', 'stats 2']);
  expect(events.at(-1)).toEqual({ id: 'end', event: 'end', data: { status: 'deleted' } });
  expect((await service.call('GET', `/v1/sandboxes/${sandboxId}/stats/stream?interval_seconds=0`)).status).toBe(400);
});
