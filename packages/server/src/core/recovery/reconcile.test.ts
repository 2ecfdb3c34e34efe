import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import type { SandboxStore } from '../ports/store/sandbox-store.ts';
import { expireSandboxes } from '../sandboxes/end.ts';
import { reconcile } from './reconcile.ts';

let service: Awaited<ReturnType<typeof stubService>>;
beforeEach(async () => {
  service = await stubService();
});
afterEach(() => service[Symbol.asyncDispose]());

const create = () => service.call('POST', '/v1/sandboxes');
const newest = async () => (await service.call('GET', '/v1/sandboxes?include_deleted=true')).body.data[0];
const balance = async () => (await service.store.ledger.summary('acct_test', 0)).spentMicroUsd;
const change = () => vi.spyOn(service.store.sandboxes, 'change');
const down = () => Promise.reject(new Error('the database is down'));
/** The write is stored, but its confirmation is lost. */
const unconfirmed = (): SandboxStore['change'] => {
  const write = service.store.sandboxes.change.bind(service.store.sandboxes);
  return async (...given) => {
    await write(...given);
    return await down();
  };
};

test('a machine that died while the database was down: failed with the reason once the database is back', async () => {
  await create();
  const broken = change().mockImplementation(down);
  service.driver.newest.die('killed by SIGKILL');
  await service.core.background.idle();
  broken.mockRestore();
  expect((await newest())?.status).toBe('running');
  await reconcile(service.core);
  expect(await newest()).toMatchObject({ status: 'failed', status_reason: 'machine_died: killed by SIGKILL' });
});

test('a create whose end could not be written ends failed, frees its place and costs nothing', async () => {
  const broken = change().mockImplementation(down);
  expect((await create()).status).toBe(500);
  broken.mockRestore();
  expect((await newest())?.status).toBe('provisioning');
  service.clock.advanceMs(30_000);
  await reconcile(service.core);
  expect(await newest()).toMatchObject({
    status: 'failed',
    status_reason: expect.stringMatching(/^provisioning_failed: /),
  });
  expect(await balance()).toBe(0);
});

test('a create that was stored as running but answered as failed costs nothing, even past its expiry', async () => {
  const lost = unconfirmed();
  change().mockImplementationOnce(lost).mockImplementationOnce(down);
  expect((await create()).status).toBe(500);
  expect((await newest())?.status).toBe('running');
  service.clock.advanceMs(3_600_000);
  await expireSandboxes(service.core);
  expect((await newest())?.status).toBe('running');
  await reconcile(service.core);
  expect((await newest())?.status).toBe('failed');
  expect(await balance()).toBe(0);
});

test('a create whose last write was stored but not confirmed: 503, failed, costs nothing', async () => {
  change().mockImplementationOnce(unconfirmed());
  expect((await create()).status).toBe(503);
  expect((await newest())?.status).toBe('failed');
  expect(await balance()).toBe(0);
});

test('a delete whose write was stored but not confirmed: its machine is destroyed', async () => {
  const { body } = await create();
  change().mockImplementationOnce(unconfirmed());
  expect((await service.call('DELETE', `/v1/sandboxes/${body.id}`)).status).toBe(500);
  expect([(await newest())?.status, service.driver.newest.destroyed]).toEqual(['deleting', false]);
  await reconcile(service.core);
  expect([(await newest())?.status, service.driver.newest.destroyed]).toEqual(['deleted', true]);
});

test('running sandboxes and creates in flight are left alone', async () => {
  await create();
  const launched = Promise.withResolvers<void>();
  service.driver.beforeLaunched = () => launched.promise;
  const creating = create();
  await vi.waitFor(async () => expect((await newest())?.status).toBe('provisioning'), { timeout: 30_000 });
  await reconcile(service.core);
  launched.resolve();
  expect((await creating).status).toBe(201);
  expect((await service.call('GET', '/v1/sandboxes')).body.data.map(({ status }) => status)).toEqual([
    'running',
    'running',
  ]);
});
