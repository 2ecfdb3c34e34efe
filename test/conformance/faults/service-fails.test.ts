import type { Account, Sandbox } from '@mayfly/contract';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { expectError, expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget({
  settings: { MAYFLY_POOL: 'small=0', MAYFLY_MAX_MACHINES: '2', MAYFLY_LOG_LEVEL: 'fatal' },
});
const polling = { timeout: 240_000, interval: 500 };
afterEach(() => vi.restoreAllMocks());

describe('a service at machine capacity', () => {
  it('503 capacity_unavailable until a machine is gone; validation and credit are checked first', async (context) => {
    const api = await target.newAccount(context);
    const [one, two] = [await api.create(), await api.create()];
    expectError(await api.post('/sandboxes'), 503, 'capacity_unavailable');
    expectError(await api.post('/sandboxes', { size: 'huge' }), 400, 'invalid_request');
    expectError(await (await target.account(context, 'broke')).post('/sandboxes'), 402, 'insufficient_credits');
    await api.delete(`/sandboxes/${one.id}`);
    const next = await api.create();
    await Promise.all([two, next].map(({ id }) => api.delete(`/sandboxes/${id}`)));
  });

  it('a create that is refused leaves no record and costs nothing', async (context) => {
    const api = await target.newAccount(context);
    const full = [await target.api.create(), await target.api.create()];
    expectError(await api.post('/sandboxes'), 503, 'capacity_unavailable');
    expect(expectStatus(await api.get('/sandboxes?include_deleted=true'), 200)).toMatchObject({ data: [] });
    expect(expectStatus(await api.get<Account>('/account'), 200).balance_usd).toBe(100);
    await Promise.all(full.map(({ id }) => target.api.delete(`/sandboxes/${id}`)));
  });
});

describe('a teardown that does not finish synchronously', () => {
  it('202 with a normal sandbox body in deleting and no error field; the sandbox ends deleted later', async (context) => {
    const { driver } = target.localService(context);
    const api = await target.newAccount(context);
    const held = Promise.withResolvers<void>();
    const launch = driver.launch.bind(driver);
    vi.spyOn(driver, 'launch').mockImplementationOnce(async (request) => {
      const machine = await launch(request);
      const destroy = machine.destroy.bind(machine);
      machine.destroy = () => held.promise.then(destroy);
      return machine;
    });
    const { id } = await api.create();
    const response = await api.delete<Sandbox>(`/sandboxes/${id}`);
    const deleting = expectStatus(response, 202);
    expect(deleting).toMatchObject({ id, status: 'deleting', ended_at: expect.any(String), deleted_at: null });
    expect(response.body).not.toHaveProperty('error');
    const balance = async () => expectStatus(await api.get<Account>('/account'), 200).balance_usd;
    const billed = await balance();
    expectStatus(await api.delete(`/sandboxes/${id}`), 202);
    const refused = [
      await api.post(`/sandboxes/${id}/exec`, { command: 'true' }),
      await api.put(`/sandboxes/${id}/files`, { path: 'a', content: 'a' }),
      await api.get(`/sandboxes/${id}/files`),
      await api.delete(`/sandboxes/${id}/files?path=a`),
      await api.post(`/sandboxes/${id}/extend`),
    ];
    for (const each of refused) expect(expectError(each, 409, 'sandbox_not_running')).toContain('deleting');
    expect(expectStatus(await api.get(`/sandboxes/${id}/ports`), 200)).toMatchObject({ data: [] });
    held.resolve();
    const gone = await vi.waitFor(async () => {
      const sandbox = await api.sandbox(id);
      expect(sandbox.status).toBe('deleted');
      return sandbox;
    }, polling);
    expect(gone).toMatchObject({ ended_at: deleting.ended_at, deleted_at: expect.any(String) });
    expect(await balance()).toBe(billed);
  });
});

describe('an unhandled server failure', () => {
  it('500 internal_error with a request id and no internal details', async (context) => {
    const { core } = target.localService(context);
    const api = await target.newAccount(context);
    vi.spyOn(core.store.sandboxes, 'list').mockRejectedValueOnce(new Error('secret details of the database'));
    const response = await api.get('/sandboxes');
    expect(expectError(response, 500, 'internal_error')).not.toContain('secret');
    expectStatus(await api.get('/sandboxes'), 200);
  });
});
