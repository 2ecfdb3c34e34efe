import type { Sandbox } from '@mayfly/contract';
import { describe, expect, it } from 'vitest';
import { expectError, expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget();
const unknown = 'sbx_00000000000000000000000000';

describe('GET /sandboxes/{id}', () => {
  it('404 not_found for an id that does not exist, in any format', async () => {
    for (const id of [unknown, 'x', '%20', '%F0%9F%A6%8B', 'a'.repeat(2000), '..%2Faccount', '%2E%2E']) {
      expectError(await target.api.get(`/sandboxes/${id}`), 404, 'not_found');
    }
  });

  it('ids of other accounts look the same as unknown ids, for every operation', async (context) => {
    const { api } = target;
    const other = await target.account(context, 'second');
    const { id } = await api.create();
    const attempts = [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/exec', { command: 'touch /tmp/stranger' }],
      ['PUT', '/files', { path: 'stranger', content: '' }],
      ['GET', '/files?path=/etc/hostname'],
      ['DELETE', '/files?path=stranger'],
      ['POST', '/extend', {}],
      ['POST', '/ports', { port: 80 }],
      ['GET', '/ports'],
      ['GET', '/executions'],
      ['DELETE', '/ports/80'],
    ] as const;
    for (const [method, path, body] of attempts) {
      const ofUnknown = expectError(await other.call(method, `/sandboxes/${unknown}${path}`, body), 404, 'not_found');
      const ofOther = expectError(await other.call(method, `/sandboxes/${id}${path}`, body), 404, 'not_found');
      expect(ofOther).toBe(ofUnknown);
    }
    expect(await api.output(id, 'ls /tmp/stranger stranger 2>/dev/null | wc -l')).toBe('0');
    expect((await api.sandbox(id)).status).toBe('running');
    await api.delete(`/sandboxes/${id}`);
  });
});

describe('DELETE /sandboxes/{id}', () => {
  it('200: object with object, id, status deleted, deleted_at; GET then shows the sandbox as deleted', async () => {
    const { api } = target;
    const { id } = await api.create({ name: 'short-lived' });
    const deleted = expectStatus(await api.delete<Sandbox>(`/sandboxes/${id}`), 200);
    expect(deleted).toEqual({ object: 'sandbox', id, status: 'deleted', deleted_at: expect.any(String) });
    expect(await api.sandbox(id)).toMatchObject({
      status: 'deleted',
      name: 'short-lived',
      deleted_at: deleted.deleted_at,
    });
  });

  it('404 for a sandbox that is already deleted, and for one that never existed', async () => {
    const { api } = target;
    const { id } = await api.create();
    expectStatus(await api.delete(`/sandboxes/${id}`), 200);
    for (const gone of [id, unknown]) expectError(await api.delete(`/sandboxes/${gone}`), 404, 'not_found');
  });

  it('exec, file operations, extend and ports on a deleted sandbox: 404 not_found', async () => {
    const { api } = target;
    const { id } = await api.create();
    await api.delete(`/sandboxes/${id}`);
    const responses = [
      await api.post(`/sandboxes/${id}/exec`, { command: 'true' }),
      await api.put(`/sandboxes/${id}/files`, { path: 'a', content: 'a' }),
      await api.get(`/sandboxes/${id}/files`),
      await api.delete(`/sandboxes/${id}/files?path=a`),
      await api.post(`/sandboxes/${id}/extend`),
      await api.post(`/sandboxes/${id}/ports`, { port: 80 }),
      await api.get(`/sandboxes/${id}/ports`),
      await api.delete(`/sandboxes/${id}/ports/80`),
    ];
    for (const response of responses) expectError(response, 404, 'not_found');
    expect((await api.sandbox(id)).status).toBe('deleted');
  });

  it('concurrent deletes: each answers 200, 202 or 404, and the sandbox ends deleted', async () => {
    const { api } = target;
    const { id } = await api.create();
    const responses = await Promise.all([1, 2, 3].map(() => api.delete(`/sandboxes/${id}`)));
    expect(responses.map(({ status }) => status).filter((status) => ![200, 202, 404].includes(status))).toEqual([]);
    expect(responses.some(({ status }) => status === 200)).toBe(true);
    expect((await api.sandbox(id)).status).toBe('deleted');
  });

  it('a command in flight ends with 502 execution_failed', async () => {
    const { api } = target;
    const { id } = await api.create();
    const running = api.post(`/sandboxes/${id}/exec`, {
      command: 'touch /tmp/started; sleep 300',
      timeout_ms: 400_000,
    });
    await api.output(id, 'until [ -e /tmp/started ]; do sleep 0.1; done');
    expectStatus(await api.delete(`/sandboxes/${id}`), 200);
    expectError(await running, 502, 'execution_failed');
  });
});
