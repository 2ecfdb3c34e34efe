import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Answer, type Api, expectError, expectStatus } from '../../support/conformance/api.ts';
import type { AccountBody, SandboxBody, SandboxListBody, UsageBody } from '../../support/conformance/bodies.ts';
import { eventually } from '../../support/conformance/eventually.ts';
import { useSubject } from '../../support/conformance/subject.ts';

const subject = useSubject({ settings: { MAYFLY_POOL: 'small=0', MAYFLY_LOG_LEVEL: 'fatal' } });
afterEach(() => vi.restoreAllMocks());

type Driver = ReturnType<typeof subject.service>['core']['driver'];

const create = (api: Api, key: string = randomUUID()): Promise<Answer<SandboxBody>> =>
  api.post<SandboxBody>('/sandboxes', {}, { headers: { 'idempotency-key': key } });

/** Lets the next launch begin only when told, and then fail or not. */
const holdLaunch = (driver: Driver): { readonly go: () => void; readonly fail: () => void } => {
  const held = Promise.withResolvers<void>();
  held.promise.catch(() => {});
  const launch = driver.launch.bind(driver);
  vi.spyOn(driver, 'launch').mockImplementationOnce(async (request) => {
    await held.promise;
    return await launch(request);
  });
  return { go: held.resolve, fail: () => held.reject(new Error('the machine did not boot')) };
};

/** The sandbox that is being made. */
const provisioning = (api: Api): Promise<SandboxBody> =>
  eventually(async () => {
    const { data } = expectStatus(await api.get<SandboxListBody>('/sandboxes'), 200);
    expect(data[0]?.status).toBe('provisioning');
    return data[0] as SandboxBody;
  }, 10_000);

describe('a machine that fails to boot', () => {
  it('503 provisioning_failed; already cleaned up, not billed, and the key is free for another try', async (context) => {
    const service = subject.service(context);
    const api = await subject.newAccount(context);
    const key = randomUUID();
    const before = expectStatus(await api.get<AccountBody>('/account'), 200).balance_usd;
    holdLaunch(service.core.driver).fail();
    expectError(await create(api, key), 503, 'provisioning_failed');
    expect(await service.machineProcesses()).toEqual([]);
    const { data } = expectStatus(await api.get<SandboxListBody>('/sandboxes'), 200);
    expect(data).toMatchObject([{ status: 'failed', ready_at: null }]);
    expect(data[0]?.status_reason).toMatch(/^provisioning_failed/);
    expect(expectStatus(await api.get<UsageBody>('/usage'), 200)).toMatchObject({ spent_usd: 0, balance_usd: before });
    const { id } = expectStatus(await create(api, key), 201);
    expect(id).not.toBe(data[0]?.id);
    await api.delete(`/sandboxes/${id}`);
    expectStatus(await api.delete(`/sandboxes/${data[0]?.id}`), 200);
  });

  it('two creates with one key at once both get its 503', async (context) => {
    const { core } = subject.service(context);
    const api = await subject.newAccount(context);
    const key = randomUUID();
    const launch = holdLaunch(core.driver);
    const insert = vi.spyOn(core.store.sandboxes, 'insert');
    const first = create(api, key);
    await provisioning(api);
    const second = create(api, key);
    await vi.waitFor(() => expect(insert).toHaveResolvedTimes(2));
    launch.fail();
    for (const answer of await Promise.all([first, second])) expectError(answer, 503, 'provisioning_failed');
  });
});

describe('a sandbox that is provisioning', () => {
  it('a create with the same key waits for it: 200 with the original, running', async (context) => {
    const { core } = subject.service(context);
    const api = await subject.newAccount(context);
    const key = randomUUID();
    const launch = holdLaunch(core.driver);
    const insert = vi.spyOn(core.store.sandboxes, 'insert');
    const first = create(api, key);
    const { id } = await provisioning(api);
    const second = create(api, key);
    await vi.waitFor(() => expect(insert).toHaveResolvedTimes(2));
    launch.go();
    expect(expectStatus(await first, 201).id).toBe(id);
    expect(expectStatus(await second, 200)).toMatchObject({ id, status: 'running' });
    await api.delete(`/sandboxes/${id}`);
  });

  it('exec, file operations and extend: 409 sandbox_not_running, and the message names the status', async (context) => {
    const { core } = subject.service(context);
    const api = await subject.newAccount(context);
    const launch = holdLaunch(core.driver);
    const creating = create(api);
    const { id } = await provisioning(api);
    const answers = [
      await api.post(`/sandboxes/${id}/exec`, { command: 'true' }),
      await api.put(`/sandboxes/${id}/files`, { path: 'a', content: 'a' }),
      await api.get(`/sandboxes/${id}/files`),
      await api.delete(`/sandboxes/${id}/files?path=a`),
      await api.post(`/sandboxes/${id}/extend`),
    ];
    for (const answer of answers) expect(expectError(answer, 409, 'sandbox_not_running')).toContain('provisioning');
    launch.go();
    expect(await api.output(expectStatus(await creating, 201).id, 'echo runs')).toBe('runs');
    await api.delete(`/sandboxes/${id}`);
  });

  it('counts toward the concurrency limit', async (context) => {
    const { core } = subject.service(context);
    const api = await subject.newAccount(context);
    const { id: accountId } = expectStatus(await api.get<AccountBody>('/account'), 200);
    await core.store.accounts.setLimits(accountId, { concurrentSandboxes: 1 });
    const launch = holdLaunch(core.driver);
    const creating = create(api);
    await provisioning(api);
    expectError(await create(api), 429, 'quota_exceeded');
    launch.go();
    await api.delete(`/sandboxes/${expectStatus(await creating, 201).id}`);
  });

  it('deleted while provisioning: 202 deleting, the create answers 503, nothing is billed or left', async (context) => {
    const service = subject.service(context);
    const api = await subject.newAccount(context);
    const launch = holdLaunch(service.core.driver);
    const creating = create(api);
    const { id } = await provisioning(api);
    const deleting = await api.delete<SandboxBody>(`/sandboxes/${id}`);
    expect(expectStatus(deleting, 202).status).toBe('deleting');
    launch.go();
    expectError(await creating, 503, 'provisioning_failed');
    await eventually(async () => expect((await api.sandbox(id)).status).toBe('deleted'), 10_000);
    expect(await service.machineProcesses()).toEqual([]);
    expect(expectStatus(await api.get<UsageBody>('/usage'), 200).spent_usd).toBe(0);
  });
});
