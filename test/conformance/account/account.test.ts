import { describe, expect, it } from 'vitest';
import { type Api, expectError, expectStatus } from '../../support/conformance/api.ts';
import type { AccountBody, UsageBody } from '../../support/conformance/bodies.ts';
import { useSubject } from '../../support/conformance/subject.ts';

const subject = useSubject();

const account = async (api: Api): Promise<AccountBody> => expectStatus(await api.get<AccountBody>('/account'), 200);
const usage = async (api: Api, query = ''): Promise<UsageBody> =>
  expectStatus(await api.get<UsageBody>(`/usage${query}`), 200);

describe('GET /account', () => {
  it('200: Account with id, e-mail, balance, limits and the price of each size per hour', async () => {
    const { id, email, limits, pricing_usd_per_hour: prices } = await account(subject.api);
    expect(id).not.toBe('');
    expect(email).toContain('@');
    expect(limits).toEqual({ concurrent_sandboxes: 20, max_timeout_minutes: 1440 });
    expect(Object.keys(prices).sort()).toEqual(['large', 'medium', 'small']);
    expect(prices.small).toBeGreaterThan(0);
    expect(prices.medium).toBeGreaterThan(prices.small ?? 0);
    expect(prices.large).toBeGreaterThan(prices.medium ?? 0);
  });

  it('is the account of the key', async (context) => {
    const other = await subject.account(context, 'second');
    const [mine, theirs] = [await account(subject.api), await account(other)];
    expect(theirs.id).not.toBe(mine.id);
    expect(theirs.email).not.toBe(mine.email);
  });

  it('is the same account for each of its keys', async (context) => {
    const sibling = await subject.account(context, 'sibling');
    expect((await account(sibling)).id).toBe((await account(subject.api)).id);
  });
});

describe('GET /usage', () => {
  it('200: Usage; days is 30 unless told; 1 and 365 are taken', async () => {
    expect((await usage(subject.api)).period_days).toBe(30);
    for (const days of [1, 365]) expect((await usage(subject.api, `?days=${days}`)).period_days).toBe(days);
  });

  it.each(['0', '366', '-1', '1.5', 'month', ''])('days %s: 400 invalid_request', async (days) => {
    expect(expectError(await subject.api.get(`/usage?days=${days}`), 400, 'invalid_request')).toContain('days');
  });

  it('the balance is that of the account', async () => {
    const api = await subject.quietAccount();
    const { balance_usd } = await account(api);
    expect((await usage(api)).balance_usd).toBeCloseTo(balance_usd, 3);
  });

  it('counts sandboxes created, also deleted ones, and what they cost', async () => {
    const api = await subject.quietAccount();
    const before = await usage(api);
    const { id } = await api.create({ size: 'large' });
    await api.output(id, 'sleep 1');
    const during = await usage(api);
    expect(during.spent_usd).toBeGreaterThan(before.spent_usd);
    await api.delete(`/sandboxes/${id}`);
    const after = await usage(api);
    expect(after.sandboxes_created).toBe(before.sandboxes_created + 1);
    expect(after.spent_usd).toBeGreaterThanOrEqual(during.spent_usd);
    expect(after.runtime_minutes).toBeGreaterThanOrEqual(before.runtime_minutes);
  });

  it('what was added and spent is the balance, on an account of this period', async (context) => {
    const api = await subject.newAccount(context, { creditMicroUsd: 2_000_000 });
    const { id } = await api.create();
    await api.output(id, 'sleep 1');
    await api.delete(`/sandboxes/${id}`);
    const { balance_usd, added_usd, spent_usd } = await usage(api);
    expect(added_usd).toBe(2);
    expect(balance_usd).toBeCloseTo(added_usd - spent_usd, 9);
    expect(spent_usd).toBeGreaterThan(0);
  });
});
