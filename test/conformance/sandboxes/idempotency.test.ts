import { randomUUID } from 'node:crypto';
import type { Sandbox, SandboxList } from '@mayfly/contract';
import { describe, expect, it } from 'vitest';
import { type Api, type ApiResponse, expectError, expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget();

function create(api: Api, key: string, body: unknown = {}): Promise<ApiResponse<Sandbox>> {
  return api.post<Sandbox>('/sandboxes', body, { headers: { 'idempotency-key': key } });
}

describe('Idempotency-Key', () => {
  it('repeating a create with the same key returns the original sandbox (200), even with another body', async () => {
    const api = await target.isolatedAccount();
    const key = randomUUID();
    const original = expectStatus(await create(api, key, { name: 'first' }), 201);
    expect(expectStatus(await create(api, key, { name: 'first' }), 200)).toEqual(original);
    expect(expectStatus(await create(api, key, { name: 'other', size: 'large' }), 200)).toEqual(original);
    const { data } = expectStatus(await api.get<SandboxList>('/sandboxes?limit=100'), 200);
    expect(data.filter(({ name }) => name === 'first' || name === 'other')).toHaveLength(1);
    await api.delete(`/sandboxes/${original.id}`);
  });

  it('a repeated create does not change the sandbox', async () => {
    const { api } = target;
    const key = randomUUID();
    const { id } = expectStatus(await create(api, key), 201);
    await api.output(id, 'echo kept > kept');
    expectStatus(await create(api, key), 200);
    expect(await api.output(id, 'cat kept')).toBe('kept');
    await api.delete(`/sandboxes/${id}`);
  });

  it('concurrent creates with one key: one creates, all return the same sandbox', async () => {
    const { api } = target;
    const key = randomUUID();
    const responses = await Promise.all(Array.from({ length: 5 }, () => create(api, key)));
    expect(responses.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 200, 200, 200, 201]);
    expect(new Set(responses.map(({ body }) => body.id)).size).toBe(1);
    expect(new Set(responses.map(({ body }) => body.status))).toEqual(new Set(['running']));
    await api.delete(`/sandboxes/${responses[0]?.body.id}`);
  });

  it('the key is remembered after the deletion: it returns the original, deleted', async () => {
    const { api } = target;
    const key = randomUUID();
    const { id } = expectStatus(await create(api, key), 201);
    await api.delete(`/sandboxes/${id}`);
    expect(expectStatus(await create(api, key), 200)).toMatchObject({ id, status: 'deleted' });
  });

  it('different keys create different sandboxes', async () => {
    const { api } = target;
    const created = [await create(api, randomUUID()), await create(api, randomUUID())];
    expect(new Set(created.map((response) => expectStatus(response, 201).id)).size).toBe(2);
    for (const { body } of created) await api.delete(`/sandboxes/${body.id}`);
  });

  it('at most 255 characters: 255 are accepted; 256, and an empty key, are 400 invalid_request', async () => {
    const { api } = target;
    const sandbox = expectStatus(await create(api, randomUUID().padEnd(255, 'k')), 201);
    await api.delete(`/sandboxes/${sandbox.id}`);
    for (const key of ['k'.repeat(256), '']) {
      expect(expectError(await create(api, key), 400, 'invalid_request')).toContain('Idempotency-Key');
    }
  });

  it('a create that is refused as invalid does not use up the key', async () => {
    const { api } = target;
    const key = randomUUID();
    expectError(await create(api, key, { size: 'huge' }), 400, 'invalid_request');
    const sandbox = expectStatus(await create(api, key, { size: 'small' }), 201);
    await api.delete(`/sandboxes/${sandbox.id}`);
  });

  it('is scoped to the account: the same key in another account creates another sandbox', async (context) => {
    const { api } = target;
    const other = await target.account(context, 'second');
    const key = randomUUID();
    const mine = expectStatus(await create(api, key), 201);
    const theirs = expectStatus(await create(other, key), 201);
    expect(theirs.id).not.toBe(mine.id);
    await Promise.all([api.delete(`/sandboxes/${mine.id}`), other.delete(`/sandboxes/${theirs.id}`)]);
  });
});
