import { randomUUID } from 'node:crypto';
import type { Account, Sandbox, SandboxList } from '@mayfly/contract';
import { describe, expect, it } from 'vitest';
import { type Api, expectError, expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget();
const attempts = 30;

async function list(api: Api, query: string): Promise<SandboxList> {
  return expectStatus(await api.get<SandboxList>(`/sandboxes${query}`), 200);
}

describe('concurrent sandboxes (provisioning + running): 20', () => {
  it('30 concurrent creates: 20 sandboxes and 10 times 429 quota_exceeded', async () => {
    const api = await target.isolatedAccount();
    const { limits } = expectStatus(await api.get<Account>('/account'), 200);
    expect(limits.concurrent_sandboxes).toBe(20);
    const { data } = await list(api, '?limit=100');
    const open = data.filter(({ status }) => status === 'running' || status === 'provisioning').length;

    const firstKey = randomUUID();
    const keys = Array.from({ length: attempts }, (_, at) => (at === 0 ? firstKey : randomUUID()));
    const responses = await Promise.all(
      keys.map((key) => api.post<Sandbox>('/sandboxes', {}, { headers: { 'idempotency-key': key } })),
    );
    const created = responses.filter(({ status }) => status === 201).map(({ body }) => body);
    // A host that is too slow for so many launches at once gives some of them up. They held their places until then.
    const failed = responses.filter(({ status }) => status === 503);
    for (const response of failed) expectError(response, 503, 'provisioning_failed');
    expect(created.length + failed.length).toBe(20 - open);
    const refused = responses.filter(({ status }) => status !== 201 && status !== 503);
    for (const response of refused) expectError(response, 429, 'quota_exceeded');
    if (failed.length > 0) console.log(`${failed.length} of the creates were given up, and are repeated one at a time`);
    for (const _ of failed) created.push(await api.create());
    expect(new Set(created.map(({ id }) => id)).size).toBe(created.length);
    expect(new Set(created.map(({ created_at }) => created_at)).size).toBe(created.length);

    // A retry without deleting one fails again. A replay is not a creation. Refused creates do not use up their keys.
    expectError(await api.post('/sandboxes'), 429, 'quota_exceeded');
    const [createdAt, refusedAt] = [201, 429].map((status) =>
      responses.findIndex((response) => response.status === status),
    );
    const replay = { headers: { 'idempotency-key': keys[createdAt ?? 0] ?? '' } };
    expect(expectStatus(await api.post<Sandbox>('/sandboxes', {}, replay), 200).id).toBe(
      responses[createdAt ?? 0]?.body.id,
    );

    // A deleted sandbox does not count.
    await api.delete(`/sandboxes/${created[0]?.id}`);
    const retry = { headers: { 'idempotency-key': keys[refusedAt ?? 0] ?? '' } };
    const another = expectStatus(await api.post<Sandbox>('/sandboxes', {}, retry), 201);
    expectError(await api.post('/sandboxes'), 429, 'quota_exceeded');

    // The default page size is 20.
    const page = await list(api, '?include_deleted=true');
    expect([page.data.length, page.has_more, page.data[0]?.id]).toEqual([20, true, another.id]);
    expect((await list(api, '?limit=100')).data.filter(({ status }) => status === 'running')).toHaveLength(20);

    // All of them accept commands.
    const ids = [...created.slice(1), another].map(({ id }) => id);
    const outputs = await Promise.all(ids.map((id) => api.output(id, `echo ${id}`)));
    expect(outputs).toEqual(ids);
    await Promise.all(ids.map((id) => api.delete(`/sandboxes/${id}`)));
  });

  it('is counted per account', async (context) => {
    const { core } = target.localService(context);
    const [full, other] = [await target.newAccount(context), await target.newAccount(context)];
    const { id: accountId } = expectStatus(await full.get<Account>('/account'), 200);
    await core.store.accounts.setLimits(accountId, { concurrentSandboxes: 1 });
    const mine = await full.create();
    expectError(await full.post('/sandboxes'), 429, 'quota_exceeded');
    const theirs = await other.create();
    expectError(await full.post('/sandboxes'), 429, 'quota_exceeded');
    await Promise.all([full.delete(`/sandboxes/${mine.id}`), other.delete(`/sandboxes/${theirs.id}`)]);
  });
});
