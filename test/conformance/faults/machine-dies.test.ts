import { describe, expect, it, type TestContext, vi } from 'vitest';
import { type Api, expectError, expectStatus } from '../../support/conformance/api.ts';
import type { ExecutionBody, SandboxBody, SandboxListBody } from '../../support/conformance/bodies.ts';
import { eventually } from '../../support/conformance/eventually.ts';
import { killMachineOf } from '../../support/conformance/kill-machine.ts';
import { useSubject } from '../../support/conformance/subject.ts';

const subject = useSubject({ settings: { MAYFLY_POOL: 'small=0' } });

const killMachine = (context: TestContext, id: string): Promise<void> =>
  killMachineOf(subject.service(context).dataDir, id);

const failed = (api: Api, id: string): Promise<SandboxBody> =>
  eventually(async () => {
    const sandbox = await api.sandbox(id);
    expect(sandbox.status).toBe('failed');
    return sandbox;
  }, 10_000);

describe('a machine that dies', () => {
  it('in the middle of a command: 502 execution_failed promptly, and the record says failed', async (context) => {
    const api = await subject.newAccount(context);
    const { id } = await api.create();
    const accepted = vi.spyOn(subject.service(context).core.store.executions, 'insert');
    const running = api.post(`/sandboxes/${id}/exec`, { command: 'touch /tmp/on; sleep 300', timeout_ms: 600_000 });
    await api.output(id, 'until [ -e /tmp/on ]; do sleep 0.1; done');
    const record = async () =>
      expectStatus(await api.get<ExecutionBody>(`/executions/${accepted.mock.calls[0]?.[0].id}`), 200);
    expect(await record()).toMatchObject({ sandbox_id: id, status: 'running', exit_code: null, finished_at: null });
    const killedMs = Date.now();
    await killMachine(context, id);
    expectError(await running, 502, 'execution_failed');
    expect(Date.now() - killedMs).toBeLessThan(10_000);
    expect(await record()).toMatchObject({ status: 'failed', exit_code: null });
    const sandbox = await failed(api, id);
    expect(sandbox.status_reason).toMatch(/^machine_died/);
    // The service is well.
    const next = await api.create();
    expect(await api.output(next.id, 'echo well')).toBe('well');
    await Promise.all([next.id, id].map((one) => api.delete(`/sandboxes/${one}`)));
  });

  it('exec, file operations and extend then: 409 sandbox_not_running, and the message names the status', async (context) => {
    const api = await subject.newAccount(context);
    const { id } = await api.create();
    await killMachine(context, id);
    await failed(api, id);
    const answers = [
      await api.post(`/sandboxes/${id}/exec`, { command: 'true' }),
      await api.put(`/sandboxes/${id}/files`, { path: 'a', content: 'a' }),
      await api.get(`/sandboxes/${id}/files`),
      await api.delete(`/sandboxes/${id}/files?path=a`),
      await api.post(`/sandboxes/${id}/extend`),
    ];
    for (const answer of answers) expect(expectError(answer, 409, 'sandbox_not_running')).toContain('failed');
    // What is wrong with the request is said first.
    expectError(await api.post(`/sandboxes/${id}/exec`, { command: '' }), 400, 'invalid_request');
    // Ports: not found, and none open.
    expectError(await api.post(`/sandboxes/${id}/ports`, { port: 80 }), 404, 'not_found');
    expect(expectStatus(await api.get(`/sandboxes/${id}/ports`), 200)).toMatchObject({ data: [] });
    // It is listed until it is deleted, which goes at once; then it is not found.
    const { data } = expectStatus(await api.get<SandboxListBody>('/sandboxes'), 200);
    expect(data.map((sandbox) => [sandbox.id, sandbox.status])).toEqual([[id, 'failed']]);
    expectStatus(await api.delete(`/sandboxes/${id}`), 200);
    expectError(await api.post(`/sandboxes/${id}/exec`, { command: 'true' }), 404, 'not_found');
  });

  it('does not count toward the concurrency limit, and is billed up to its death only', async (context) => {
    const { core } = subject.service(context);
    const api = await subject.newAccount(context);
    const account = expectStatus(await api.get<{ id: string; balance_usd: number }>('/account'), 200);
    await core.store.accounts.setLimits(account.id, { concurrentSandboxes: 1 });
    const { id } = await api.create();
    await api.output(id, 'sleep 1');
    expectError(await api.post('/sandboxes'), 429, 'quota_exceeded');
    await killMachine(context, id);
    await failed(api, id);
    const balance = async () => expectStatus(await api.get<{ balance_usd: number }>('/account'), 200).balance_usd;
    const settled = await balance();
    expect(settled).toBeLessThan(account.balance_usd);
    const next = await api.create();
    await api.delete(`/sandboxes/${next.id}`);
    await api.delete(`/sandboxes/${id}`);
    const { balance_usd } = { balance_usd: await balance() };
    expect(balance_usd).toBeLessThanOrEqual(settled);
    expect(await balance()).toBe(balance_usd);
  });
});
