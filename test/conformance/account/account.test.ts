import type { Account, Usage } from '@mayfly/contract';
import { describe, expect, it } from 'vitest';
import { type Api, expectError, expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget();

async function account(api: Api): Promise<Account> {
  return expectStatus(await api.get<Account>('/account'), 200);
}

async function usage(api: Api, query = ''): Promise<Usage> {
  return expectStatus(await api.get<Usage>(`/usage${query}`), 200);
}

describe('GET /account', () => {
  it('200: Account with id, email, balance, limits and the hourly price of each size', async () => {
    const { id, email, limits, pricing_usd_per_hour: prices } = await account(target.api);
    expect(id).not.toBe('');
    expect(email).toContain('@');
    expect(limits).toEqual({ concurrent_sandboxes: 20, max_timeout_minutes: 1440 });
    expect(Object.keys(prices).sort()).toEqual(['large', 'medium', 'small']);
    expect(prices.small).toBeGreaterThan(0);
    expect(prices.medium).toBeGreaterThan(prices.small ?? 0);
    expect(prices.large).toBeGreaterThan(prices.medium ?? 0);
  });

  it('returns the account of the key', async (context) => {
    const other = await target.account(context, 'second');
    const [mine, theirs] = [await account(target.api), await account(other)];
    expect(theirs.id).not.toBe(mine.id);
    expect(theirs.email).not.toBe(mine.email);
  });

  it('returns the same account for each of its keys', async (context) => {
    const sibling = await target.account(context, 'sibling');
    expect((await account(sibling)).id).toBe((await account(target.api)).id);
  });
});

describe('GET /usage', () => {
  it('200: Usage; days defaults to 30 and accepts 1 and 365', async () => {
    expect((await usage(target.api)).period_days).toBe(30);
    for (const days of [1, 365]) expect((await usage(target.api, `?days=${days}`)).period_days).toBe(days);
  });

  it.each(['0', '366', '-1', '1.5', 'month', ''])('days %s: 400 invalid_request', async (days) => {
    expect(expectError(await target.api.get(`/usage?days=${days}`), 400, 'invalid_request')).toContain('days');
  });

  it('the balance equals the balance of the account', async () => {
    const api = await target.isolatedAccount();
    const { balance_usd } = await account(api);
    expect((await usage(api)).balance_usd).toBeCloseTo(balance_usd, 3);
  });

  it('counts created sandboxes, including deleted ones, and their cost', async () => {
    const api = await target.isolatedAccount();
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

  it('the balance of a new account is the added credit minus what was spent', async (context) => {
    const api = await target.newAccount(context, { creditMicroUsd: 2_000_000 });
    const { id } = await api.create();
    await api.output(id, 'sleep 1');
    await api.delete(`/sandboxes/${id}`);
    const { balance_usd, added_usd, spent_usd } = await usage(api);
    expect(added_usd).toBe(2);
    expect(balance_usd).toBeCloseTo(added_usd - spent_usd, 9);
    expect(spent_usd).toBeGreaterThan(0);
  });
});
