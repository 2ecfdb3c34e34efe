import { randomUUID } from 'node:crypto';
import type { Account, Sandbox, SandboxList, Usage } from '@mayfly/contract';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { heldResources } from '../../support/chaos/held-resources.ts';
import { type Api, type ApiResponse, expectError, expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget({ settings: { MAYFLY_POOL: 'small=0', MAYFLY_LOG_LEVEL: 'fatal' } });
/** What a machine holds of the host. */
const nothingHeld = { processes: [], folders: [], cgroups: [] };
const polling = { timeout: 120_000, interval: 500 };
afterEach(() => vi.restoreAllMocks());

type Driver = ReturnType<typeof target.localService>['driver'];

function create(api: Api, key: string = randomUUID()): Promise<ApiResponse<Sandbox>> {
  return api.post<Sandbox>('/sandboxes', {}, { headers: { 'idempotency-key': key } });
}

/** Blocks the next launch until it is told to proceed or to fail. */
function blockLaunch(driver: Driver): { readonly proceed: () => void; readonly fail: () => void } {
  const held = Promise.withResolvers<void>();
  held.promise.catch(() => {});
  const launch = driver.launch.bind(driver);
  vi.spyOn(driver, 'launch').mockImplementationOnce(async (request) => {
    await held.promise;
    return await launch(request);
  });
  return { proceed: held.resolve, fail: () => held.reject(new Error('the machine did not boot')) };
}

/** Waits until a sandbox is `provisioning` and returns it. */
function waitUntilProvisioning(api: Api): Promise<Sandbox> {
  return vi.waitFor(async () => {
    const { data } = expectStatus(await api.get<SandboxList>('/sandboxes'), 200);
    expect(data[0]?.status).toBe('provisioning');
    return data[0] as Sandbox;
  }, polling);
}

describe('a machine that fails to boot', () => {
  it('503 provisioning_failed; everything is cleaned up, nothing is billed, and the key is free for a retry', async (context) => {
    const service = target.localService(context);
    const api = await target.newAccount(context);
    const key = randomUUID();
    const before = expectStatus(await api.get<Account>('/account'), 200).balance_usd;
    blockLaunch(service.driver).fail();
    expectError(await create(api, key), 503, 'provisioning_failed');
    expect(await heldResources(service.dataDir)).toMatchObject(nothingHeld);
    const { data } = expectStatus(await api.get<SandboxList>('/sandboxes'), 200);
    expect(data).toMatchObject([{ status: 'failed', ready_at: null, ended_at: expect.any(String) }]);
    expect(data[0]?.status_reason).toMatch(/^provisioning_failed/);
    expect(expectStatus(await api.get<Usage>('/usage'), 200)).toMatchObject({
      spent_usd: 0,
      balance_usd: before,
      sandboxes_created: 0,
    });
    const { id } = expectStatus(await create(api, key), 201);
    expect(id).not.toBe(data[0]?.id);
    await api.delete(`/sandboxes/${id}`);
    expectStatus(await api.delete(`/sandboxes/${data[0]?.id}`), 200);
  });

  it('two concurrent creates with one key both answer 503', async (context) => {
    const { core, driver } = target.localService(context);
    const api = await target.newAccount(context);
    const key = randomUUID();
    const launch = blockLaunch(driver);
    const insert = vi.spyOn(core.store.sandboxes, 'insert');
    const first = create(api, key);
    await waitUntilProvisioning(api);
    const second = create(api, key);
    await vi.waitFor(() => expect(insert).toHaveResolvedTimes(2), polling);
    launch.fail();
    for (const response of await Promise.all([first, second])) expectError(response, 503, 'provisioning_failed');
  });
});

describe('a sandbox that is provisioning', () => {
  it('a create with the same key waits for it: 200 with the original sandbox, running', async (context) => {
    const { core, driver } = target.localService(context);
    const api = await target.newAccount(context);
    const key = randomUUID();
    const launch = blockLaunch(driver);
    const insert = vi.spyOn(core.store.sandboxes, 'insert');
    const first = create(api, key);
    const { id } = await waitUntilProvisioning(api);
    const second = create(api, key);
    await vi.waitFor(() => expect(insert).toHaveResolvedTimes(2), polling);
    launch.proceed();
    expect(expectStatus(await first, 201).id).toBe(id);
    expect(expectStatus(await second, 200)).toMatchObject({ id, status: 'running' });
    await api.delete(`/sandboxes/${id}`);
  });

  it('exec, file operations and extend: 409 sandbox_not_running; the message names the status', async (context) => {
    const { driver } = target.localService(context);
    const api = await target.newAccount(context);
    const launch = blockLaunch(driver);
    const creating = create(api);
    const { id } = await waitUntilProvisioning(api);
    const responses = [
      await api.post(`/sandboxes/${id}/exec`, { command: 'true' }),
      await api.put(`/sandboxes/${id}/files`, { path: 'a', content: 'a' }),
      await api.get(`/sandboxes/${id}/files`),
      await api.delete(`/sandboxes/${id}/files?path=a`),
      await api.post(`/sandboxes/${id}/extend`),
    ];
    for (const response of responses)
      expect(expectError(response, 409, 'sandbox_not_running')).toContain('provisioning');
    launch.proceed();
    expect(await api.output(expectStatus(await creating, 201).id, 'echo runs')).toBe('runs');
    await api.delete(`/sandboxes/${id}`);
  });

  it('counts toward the concurrency limit', async (context) => {
    const { core, driver } = target.localService(context);
    const api = await target.newAccount(context);
    const { id: accountId } = expectStatus(await api.get<Account>('/account'), 200);
    await core.store.accounts.setLimits(accountId, { concurrentSandboxes: 1 });
    const launch = blockLaunch(driver);
    const creating = create(api);
    await waitUntilProvisioning(api);
    expectError(await create(api), 429, 'quota_exceeded');
    launch.proceed();
    await api.delete(`/sandboxes/${expectStatus(await creating, 201).id}`);
  });

  it('deleted while provisioning: 202 deleting, the create answers 503, nothing is billed or left behind', async (context) => {
    const service = target.localService(context);
    const api = await target.newAccount(context);
    const launch = blockLaunch(service.driver);
    const creating = create(api);
    const { id } = await waitUntilProvisioning(api);
    const deleting = await api.delete<Sandbox>(`/sandboxes/${id}`);
    const { status, ended_at } = expectStatus(deleting, 202);
    expect([status, ended_at]).toEqual(['deleting', expect.any(String)]);
    launch.proceed();
    expectError(await creating, 503, 'provisioning_failed');
    await vi.waitFor(async () => expect(await api.sandbox(id)).toMatchObject({ status: 'deleted', ended_at }), polling);
    expect(await heldResources(service.dataDir)).toMatchObject(nothingHeld);
    expect(expectStatus(await api.get<Usage>('/usage'), 200)).toMatchObject({ spent_usd: 0, sandboxes_created: 0 });
  });
});
