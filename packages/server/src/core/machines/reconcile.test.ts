import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import type { SandboxStore } from '../ports/store/sandbox-store.ts';
import { expireSandboxes } from '../sandboxes/expire.ts';
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
/** The write happens, its answer is lost. */
const lostAnswer = (): SandboxStore['change'] => {
  const write = service.store.sandboxes.change.bind(service.store.sandboxes);
  return async (...given) => {
    await write(...given);
    return await down();
  };
};

test('a machine that died while the database was down: failed with the reason once it is back', async () => {
  await create();
  const broken = change().mockImplementation(down);
  service.driver.newest.die('killed by SIGKILL');
  await service.core.background.idle();
  broken.mockRestore();
  expect((await newest())?.status).toBe('running');
  await reconcile(service.core);
  expect(await newest()).toMatchObject({ status: 'failed', status_reason: 'machine_died: killed by SIGKILL' });
});

test('a create that could neither succeed nor fail in the database ends failed, frees its place and costs nothing', async () => {
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

test('a create that was kept as running though its caller heard of a failure costs nothing, also past its expiry', async () => {
  const lost = lostAnswer();
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

test('a create whose last write was kept though its answer was lost: 503, failed, costs nothing', async () => {
  change().mockImplementationOnce(lostAnswer());
  expect((await create()).status).toBe(503);
  expect((await newest())?.status).toBe('failed');
  expect(await balance()).toBe(0);
});

test('a delete whose write was kept though its answer was lost: its machine goes all the same', async () => {
  const { body } = await create();
  change().mockImplementationOnce(lostAnswer());
  expect((await service.call('DELETE', `/v1/sandboxes/${body.id}`)).status).toBe(500);
  expect([(await newest())?.status, service.driver.newest.destroyed]).toEqual(['deleting', false]);
  await reconcile(service.core);
  expect([(await newest())?.status, service.driver.newest.destroyed]).toEqual(['deleted', true]);
});

test('what is well stays as it is, and so does a create under way', async () => {
  await create();
  const launched = Promise.withResolvers<void>();
  service.driver.beforeLaunched = () => launched.promise;
  const creating = create();
  await vi.waitFor(async () => expect((await newest())?.status).toBe('provisioning'));
  await reconcile(service.core);
  launched.resolve();
  expect((await creating).status).toBe(201);
  expect((await service.call('GET', '/v1/sandboxes')).body.data.map(({ status }) => status)).toEqual([
    'running',
    'running',
  ]);
});
