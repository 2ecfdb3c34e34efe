import type { Account } from '@mayfly/contract';
import { describe, expect, it } from 'vitest';
import { createKey, revokeKey } from '#server/core/accounts/api-keys.ts';
import { expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget();

describe('API keys', () => {
  it('an account has at most 10 active keys; a revoked key does not count', async (context) => {
    const { core } = target.localService(context);
    const api = await target.newAccount(context);
    const { email } = expectStatus(await api.get<Account>('/account'), 200);
    const created = [];
    while (created.length < 9) created.push(await createKey(core, email));
    await expect(createKey(core, email)).rejects.toMatchObject({ type: 'too_many_keys' });
    const statusWith = async (apiKey: string) =>
      (await api.get('/account', { authorization: `Bearer ${apiKey}` })).status;
    expect(await Promise.all(created.map(({ apiKey }) => statusWith(apiKey)))).toEqual(created.map(() => 200));
    const [first] = created;
    await revokeKey(core, email, first?.key.id ?? '');
    expect(await statusWith(first?.apiKey ?? '')).toBe(401);
    expect(await statusWith((await createKey(core, email)).apiKey)).toBe(200);
    await expect(createKey(core, email)).rejects.toMatchObject({ type: 'too_many_keys' });
  });

  it('keys on one account share the same rate limits', async (context) => {
    const { api } = target;
    const sibling = await target.account(context, 'sibling');
    const remaining: number[] = [];
    for (const client of [api, sibling, api, sibling]) {
      const response = await client.get('/account');
      expectStatus(response, 200);
      remaining.push(Number(response.headers['ratelimit-remaining']));
    }
    // At most one window ends during these requests.
    const steps = remaining.slice(1).map((left, at) => (remaining[at] ?? 0) - left);
    expect(steps.filter((step) => step === 1).length).toBeGreaterThanOrEqual(2);
  });

  it('keys on one account see the same sandboxes', async (context) => {
    const { api } = target;
    const sibling = await target.account(context, 'sibling');
    const { id } = await api.create();
    expect((await sibling.sandbox(id)).status).toBe('running');
    expect(await sibling.output(id, 'echo shared')).toBe('shared');
    expectStatus(await sibling.delete(`/sandboxes/${id}`), 200);
  });
});
