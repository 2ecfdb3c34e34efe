import { setTimeout as sleep } from 'node:timers/promises';
import type { Execution, Sandbox, SandboxList } from '@mayfly/contract';
import { describe, expect, it, type TestContext, vi } from 'vitest';
import { machineDeathNoticedMs } from '#server-test/promises.ts';
import { type Api, expectError, expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';
import { killMachine } from '../../support/machine-processes.ts';

const target = useTarget({ settings: { MAYFLY_POOL: 'small=0' } });

function kill(context: TestContext, id: string): Promise<void> {
  return killMachine(target.localService(context).dataDir, id);
}

/** Waits until a sandbox is `failed`. */
function waitUntilFailed(api: Api, id: string): Promise<Sandbox> {
  return vi.waitFor(
    async () => {
      const sandbox = await api.sandbox(id);
      expect(sandbox.status).toBe('failed');
      return sandbox;
    },
    { timeout: machineDeathNoticedMs, interval: 500 },
  );
}

describe('a machine that dies', () => {
  it('during a command: 502 execution_failed without waiting for the command, and the record is failed', async (context) => {
    const api = await target.newAccount(context);
    const { id } = await api.create();
    const accepted = vi.spyOn(target.localService(context).core.store.executions, 'insert');
    const running = api.post(`/sandboxes/${id}/exec`, { command: 'touch /tmp/on; sleep 300', timeout_ms: 600_000 });
    await api.output(id, 'until [ -e /tmp/on ]; do sleep 0.1; done');
    const record = async () =>
      expectStatus(await api.get<Execution>(`/executions/${accepted.mock.calls[0]?.[0].id}`), 200);
    expect(await record()).toMatchObject({ sandbox_id: id, status: 'running', exit_code: null, finished_at: null });
    const killedMs = Date.now();
    await kill(context, id);
    expectError(await running, 502, 'execution_failed');
    expect(Date.now() - killedMs).toBeLessThan(machineDeathNoticedMs);
    expect(await record()).toMatchObject({ status: 'failed', exit_code: null });
    const sandbox = await waitUntilFailed(api, id);
    expect(sandbox.status_reason).toMatch(/^machine_died/);
    expect(Date.parse(sandbox.ended_at ?? '')).toBeGreaterThanOrEqual(killedMs);
    // The service still works.
    const next = await api.create();
    expect(await api.output(next.id, 'echo works')).toBe('works');
    await Promise.all([next.id, id].map((one) => api.delete(`/sandboxes/${one}`)));
    expect(await api.sandbox(id)).toMatchObject({ status: 'deleted', ended_at: sandbox.ended_at });
  });

  it('exec, file operations and extend afterwards: 409 sandbox_not_running; the message names the status', async (context) => {
    const api = await target.newAccount(context);
    const { id } = await api.create();
    await kill(context, id);
    await waitUntilFailed(api, id);
    const responses = [
      await api.post(`/sandboxes/${id}/exec`, { command: 'true' }),
      await api.put(`/sandboxes/${id}/files`, { path: 'a', content: 'a' }),
      await api.get(`/sandboxes/${id}/files`),
      await api.delete(`/sandboxes/${id}/files?path=a`),
      await api.post(`/sandboxes/${id}/extend`),
    ];
    for (const response of responses) expect(expectError(response, 409, 'sandbox_not_running')).toContain('failed');
    // Validation comes first.
    expectError(await api.post(`/sandboxes/${id}/exec`, { command: '' }), 400, 'invalid_request');
    // The specification has no 409 for ports.
    expectError(await api.post(`/sandboxes/${id}/ports`, { port: 80 }), 404, 'not_found');
    expect(expectStatus(await api.get(`/sandboxes/${id}/ports`), 200)).toMatchObject({ data: [] });
    // It is listed until it is deleted; then it is not found.
    const { data } = expectStatus(await api.get<SandboxList>('/sandboxes'), 200);
    expect(data.map((sandbox) => [sandbox.id, sandbox.status])).toEqual([[id, 'failed']]);
    expectStatus(await api.delete(`/sandboxes/${id}`), 200);
    expectError(await api.post(`/sandboxes/${id}/exec`, { command: 'true' }), 404, 'not_found');
  });

  it('keeps its Idempotency-Key: a replay answers 200 with the original sandbox, failed, and creates nothing', async (context) => {
    const api = await target.newAccount(context);
    const replayed = { headers: { 'idempotency-key': 'of-a-machine-that-dies' } };
    const { id } = await api.create({}, replayed);
    await kill(context, id);
    const failed = await waitUntilFailed(api, id);
    expect(expectStatus(await api.post<Sandbox>('/sandboxes', {}, replayed), 200)).toEqual(failed);
    const { data } = expectStatus(await api.get<SandboxList>('/sandboxes?include_deleted=true'), 200);
    expect(data.map((sandbox) => sandbox.id)).toEqual([id]);
    await api.delete(`/sandboxes/${id}`);
  });

  it('does not count toward the concurrency limit and is billed only until it died', async (context) => {
    const { core } = target.localService(context);
    const api = await target.newAccount(context);
    const account = expectStatus(await api.get<{ id: string; balance_usd: number }>('/account'), 200);
    await core.store.accounts.setLimits(account.id, { concurrentSandboxes: 1 });
    const { id } = await api.create();
    await api.output(id, 'sleep 1');
    expectError(await api.post('/sandboxes'), 429, 'quota_exceeded');
    await kill(context, id);
    await waitUntilFailed(api, id);
    const balance = async () => expectStatus(await api.get<{ balance_usd: number }>('/account'), 200).balance_usd;
    const billed = await balance();
    expect(billed).toBeLessThan(account.balance_usd);
    await sleep(2_000);
    expect(await balance()).toBe(billed);
    const next = await api.create();
    await api.delete(`/sandboxes/${next.id}`);
    await api.delete(`/sandboxes/${id}`);
    const final = await balance();
    expect(final).toBeLessThanOrEqual(billed);
    expect(await balance()).toBe(final);
  });
});
