import { describe, expect, it } from 'vitest';
import { createKey, revokeKey } from '#server/core/accounts/keys.ts';
import { expectStatus } from '../../support/conformance/api.ts';
import type { AccountBody } from '../../support/conformance/bodies.ts';
import { useSubject } from '../../support/conformance/subject.ts';

const subject = useSubject();

describe('API keys', () => {
  it('an account may have at most 10 active keys; a revoked one makes room', async (context) => {
    const { core } = subject.service(context);
    const api = await subject.newAccount(context);
    const { email } = expectStatus(await api.get<AccountBody>('/account'), 200);
    const made = [];
    while (made.length < 9) made.push(await createKey(core, email));
    await expect(createKey(core, email)).rejects.toMatchObject({ type: 'too_many_keys' });
    const works = async (apiKey: string) => (await api.get('/account', { authorization: `Bearer ${apiKey}` })).status;
    expect(await Promise.all(made.map(({ apiKey }) => works(apiKey)))).toEqual(made.map(() => 200));
    const [first] = made;
    await revokeKey(core, email, first?.key.id ?? '');
    expect(await works(first?.apiKey ?? '')).toBe(401);
    expect(await works((await createKey(core, email)).apiKey)).toBe(200);
    await expect(createKey(core, email)).rejects.toMatchObject({ type: 'too_many_keys' });
  });

  it('keys on one account share the same rate limits', async (context) => {
    const { api } = subject;
    const sibling = await subject.account(context, 'sibling');
    const remaining: number[] = [];
    for (const one of [api, sibling, api, sibling]) {
      const answer = await one.get('/account');
      expectStatus(answer, 200);
      remaining.push(Number(answer.headers['ratelimit-remaining']));
    }
    // A window may end in between, once.
    const steps = remaining.slice(1).map((left, at) => (remaining[at] ?? 0) - left);
    expect(steps.filter((step) => step === 1).length).toBeGreaterThanOrEqual(2);
  });

  it('keys on one account see the same sandboxes', async (context) => {
    const { api } = subject;
    const sibling = await subject.account(context, 'sibling');
    const { id } = await api.create();
    expect((await sibling.sandbox(id)).status).toBe('running');
    expect(await sibling.output(id, 'echo shared')).toBe('shared');
    expectStatus(await sibling.delete(`/sandboxes/${id}`), 200);
  });
});
