import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Api, expectError, expectStatus } from '../../support/conformance/api.ts';
import type { AccountBody, SandboxBody, SandboxListBody } from '../../support/conformance/bodies.ts';
import { useSubject } from '../../support/conformance/subject.ts';

const subject = useSubject();
const attempts = 30;

const list = async (api: Api, query: string): Promise<SandboxListBody> =>
  expectStatus(await api.get<SandboxListBody>(`/sandboxes${query}`), 200);

describe('concurrent sandboxes (provisioning + running): 20', () => {
  it('30 creates at the same moment give 20 sandboxes and 10 times 429 quota_exceeded', async () => {
    const api = await subject.quietAccount();
    const { limits } = expectStatus(await api.get<AccountBody>('/account'), 200);
    expect(limits.concurrent_sandboxes).toBe(20);
    const { data } = await list(api, '?limit=100');
    const open = data.filter(({ status }) => status === 'running' || status === 'provisioning').length;

    const firstKey = randomUUID();
    const keys = Array.from({ length: attempts }, (_, at) => (at === 0 ? firstKey : randomUUID()));
    const answers = await Promise.all(
      keys.map((key) => api.post<SandboxBody>('/sandboxes', {}, { headers: { 'idempotency-key': key } })),
    );
    const created = answers.filter(({ status }) => status === 201).map(({ body }) => body);
    expect(created).toHaveLength(20 - open);
    for (const refused of answers.filter(({ status }) => status !== 201)) expectError(refused, 429, 'quota_exceeded');
    expect(new Set(created.map(({ id }) => id)).size).toBe(created.length);
    expect(new Set(created.map(({ created_at }) => created_at)).size).toBe(created.length);

    // Retrying without freeing one fails again; a replay is no creation; the refused keys are not used up.
    expectError(await api.post('/sandboxes'), 429, 'quota_exceeded');
    const [madeAt, refusedAt] = [201, 429].map((status) => answers.findIndex((answer) => answer.status === status));
    const replay = { headers: { 'idempotency-key': keys[madeAt ?? 0] ?? '' } };
    expect(expectStatus(await api.post<SandboxBody>('/sandboxes', {}, replay), 200).id).toBe(
      answers[madeAt ?? 0]?.body.id,
    );

    // A deleted one does not count.
    await api.delete(`/sandboxes/${created[0]?.id}`);
    const retry = { headers: { 'idempotency-key': keys[refusedAt ?? 0] ?? '' } };
    const another = expectStatus(await api.post<SandboxBody>('/sandboxes', {}, retry), 201);
    expectError(await api.post('/sandboxes'), 429, 'quota_exceeded');

    // The default page of the list has 20.
    const page = await list(api, '?include_deleted=true');
    expect([page.data.length, page.has_more, page.data[0]?.id]).toEqual([20, true, another.id]);
    expect((await list(api, '?limit=100')).data.filter(({ status }) => status === 'running')).toHaveLength(20);

    // All of them take commands.
    const ids = [...created.slice(1), another].map(({ id }) => id);
    const outputs = await Promise.all(ids.map((id) => api.output(id, `echo ${id}`)));
    expect(outputs).toEqual(ids);
    await Promise.all(ids.map((id) => api.delete(`/sandboxes/${id}`)));
  }, 600_000);

  it('is counted for each account by itself', async (context) => {
    const other = await subject.account(context, 'second');
    const { id } = await other.create();
    await other.delete(`/sandboxes/${id}`);
  });
});
