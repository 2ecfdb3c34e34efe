import { afterEach, describe, expect, it, vi } from 'vitest';
import { expectError, expectStatus } from '../../support/conformance/api.ts';
import type { AccountBody, SandboxBody } from '../../support/conformance/bodies.ts';
import { eventually } from '../../support/conformance/eventually.ts';
import { useSubject } from '../../support/conformance/subject.ts';

const subject = useSubject({
  settings: { MAYFLY_POOL: 'small=0', MAYFLY_MAX_MACHINES: '2', MAYFLY_LOG_LEVEL: 'fatal' },
});
afterEach(() => vi.restoreAllMocks());

describe('a platform at its total machine ceiling', () => {
  it('503 capacity_unavailable, until a machine is gone; a wrong field or missing credit is said first', async (context) => {
    const api = await subject.newAccount(context);
    const [one, two] = [await api.create(), await api.create()];
    expectError(await api.post('/sandboxes'), 503, 'capacity_unavailable');
    expectError(await api.post('/sandboxes', { size: 'huge' }), 400, 'invalid_request');
    expectError(await (await subject.account(context, 'broke')).post('/sandboxes'), 402, 'insufficient_credits');
    await api.delete(`/sandboxes/${one.id}`);
    const next = await api.create();
    await Promise.all([two, next].map(({ id }) => api.delete(`/sandboxes/${id}`)));
  });

  it('a create that was refused leaves no record and costs nothing', async (context) => {
    const api = await subject.newAccount(context);
    const full = [await subject.api.create(), await subject.api.create()];
    expectError(await api.post('/sandboxes'), 503, 'capacity_unavailable');
    expect(expectStatus(await api.get('/sandboxes?include_deleted=true'), 200)).toMatchObject({ data: [] });
    expect(expectStatus(await api.get<AccountBody>('/account'), 200).balance_usd).toBe(100);
    await Promise.all(full.map(({ id }) => subject.api.delete(`/sandboxes/${id}`)));
  });
});

describe('a teardown that does not finish synchronously', () => {
  it('202 with a normal sandbox body in deleting and no error field; it ends deleted by itself', async (context) => {
    const { core } = subject.service(context);
    const api = await subject.newAccount(context);
    const held = Promise.withResolvers<void>();
    const launch = core.driver.launch.bind(core.driver);
    vi.spyOn(core.driver, 'launch').mockImplementationOnce(async (request) => {
      const machine = await launch(request);
      const destroy = machine.destroy.bind(machine);
      machine.destroy = () => held.promise.then(destroy);
      return machine;
    });
    const { id } = await api.create();
    const answer = await api.delete<SandboxBody>(`/sandboxes/${id}`);
    expect(expectStatus(answer, 202)).toMatchObject({ id, status: 'deleting' });
    expect(answer.body).not.toHaveProperty('error');
    const balance = async () => expectStatus(await api.get<AccountBody>('/account'), 200).balance_usd;
    const settled = await balance();
    expectStatus(await api.delete(`/sandboxes/${id}`), 202);
    const exec = await api.post(`/sandboxes/${id}/exec`, { command: 'true' });
    expect(expectError(exec, 409, 'sandbox_not_running')).toContain('deleting');
    held.resolve();
    const gone = await eventually(async () => {
      const sandbox = await api.sandbox(id);
      expect(sandbox.status).toBe('deleted');
      return sandbox;
    }, 20_000);
    expect(gone.deleted_at).not.toBeNull();
    expect(await balance()).toBe(settled);
  });
});

describe('an unhandled server failure', () => {
  it('500 internal_error, with an id and without a word of what is inside', async (context) => {
    const { core } = subject.service(context);
    const api = await subject.newAccount(context);
    vi.spyOn(core.store.sandboxes, 'list').mockRejectedValueOnce(new Error('secret words of the database'));
    const answer = await api.get('/sandboxes');
    expect(expectError(answer, 500, 'internal_error')).not.toContain('secret');
    expectStatus(await api.get('/sandboxes'), 200);
  });
});
