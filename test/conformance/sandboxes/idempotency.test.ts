import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Answer, type Api, expectError, expectStatus } from '../../support/conformance/api.ts';
import type { SandboxBody, SandboxListBody } from '../../support/conformance/bodies.ts';
import { useSubject } from '../../support/conformance/subject.ts';

const subject = useSubject();

const create = (api: Api, key: string, body: unknown = {}): Promise<Answer<SandboxBody>> =>
  api.post<SandboxBody>('/sandboxes', body, { headers: { 'idempotency-key': key } });

describe('Idempotency-Key', () => {
  it('repeating a create with the same key returns the original sandbox (200), even with another body', async () => {
    const api = await subject.quietAccount();
    const key = randomUUID();
    const original = expectStatus(await create(api, key, { name: 'first' }), 201);
    expect(expectStatus(await create(api, key, { name: 'first' }), 200)).toEqual(original);
    expect(expectStatus(await create(api, key, { name: 'other', size: 'large' }), 200)).toEqual(original);
    const { data } = expectStatus(await api.get<SandboxListBody>('/sandboxes?limit=100'), 200);
    expect(data.filter(({ name }) => name === 'first' || name === 'other')).toHaveLength(1);
    await api.delete(`/sandboxes/${original.id}`);
  });

  it('a repeated create has no Location of a new sandbox and changes nothing', async () => {
    const { api } = subject;
    const key = randomUUID();
    const { id } = expectStatus(await create(api, key), 201);
    await api.output(id, 'echo kept > kept');
    expectStatus(await create(api, key), 200);
    expect(await api.output(id, 'cat kept')).toBe('kept');
    await api.delete(`/sandboxes/${id}`);
  });

  it('several at once: one creates, all get the same sandbox', async () => {
    const { api } = subject;
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 5 }, () => create(api, key)));
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 200, 200, 200, 201]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(new Set(answers.map(({ body }) => body.status))).toEqual(new Set(['running']));
    await api.delete(`/sandboxes/${answers[0]?.body.id}`);
  });

  it('the key is remembered past the deletion: the original comes back, deleted', async () => {
    const { api } = subject;
    const key = randomUUID();
    const { id } = expectStatus(await create(api, key), 201);
    await api.delete(`/sandboxes/${id}`);
    expect(expectStatus(await create(api, key), 200)).toMatchObject({ id, status: 'deleted' });
  });

  it('two keys, or none, make two sandboxes', async () => {
    const { api } = subject;
    const made = [await create(api, randomUUID()), await create(api, randomUUID())];
    expect(new Set(made.map((answer) => expectStatus(answer, 201).id)).size).toBe(2);
    for (const { body } of made) await api.delete(`/sandboxes/${body.id}`);
  });

  it('at most 255 characters: 255 are taken, 256 give 400 invalid_request, and so does an empty one', async () => {
    const { api } = subject;
    const sandbox = expectStatus(await create(api, randomUUID().padEnd(255, 'k')), 201);
    await api.delete(`/sandboxes/${sandbox.id}`);
    for (const key of ['k'.repeat(256), '']) {
      expect(expectError(await create(api, key), 400, 'invalid_request')).toContain('Idempotency-Key');
    }
  });

  it('a create that was refused does not use the key up', async () => {
    const { api } = subject;
    const key = randomUUID();
    expectError(await create(api, key, { size: 'huge' }), 400, 'invalid_request');
    const sandbox = expectStatus(await create(api, key, { size: 'small' }), 201);
    await api.delete(`/sandboxes/${sandbox.id}`);
  });

  it('belongs to the account: the same key of another account makes another sandbox', async (context) => {
    const { api } = subject;
    const other = await subject.account(context, 'second');
    const key = randomUUID();
    const mine = expectStatus(await create(api, key), 201);
    const theirs = expectStatus(await create(other, key), 201);
    expect(theirs.id).not.toBe(mine.id);
    await Promise.all([api.delete(`/sandboxes/${mine.id}`), other.delete(`/sandboxes/${theirs.id}`)]);
  });
});
