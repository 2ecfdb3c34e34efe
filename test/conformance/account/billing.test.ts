import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Account, Execution, Sandbox } from '@mayfly/contract';
import { describe, expect, it, vi } from 'vitest';
import { type Api, expectError, expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget();
/** Balances are given in millionths of a dollar. */
const roundingUsd = 0.000_002;
const hourMs = 3_600_000;

async function balance(api: Api): Promise<number> {
  return expectStatus(await api.get<Account>('/account'), 200).balance_usd;
}

/** Removes all credit from an account of the local service. */
async function removeCredit(api: Api, core: ReturnType<typeof target.localService>['core']): Promise<void> {
  const { id, balance_usd } = expectStatus(await api.get<Account>('/account'), 200);
  const amountMicroUsd = -Math.ceil(balance_usd * 1_000_000);
  await core.store.ledger.addCredit({
    id: randomUUID(),
    accountId: id,
    amountMicroUsd,
    createdAtMs: Date.now(),
    note: '',
  });
}

describe('usage is billed from a credit balance in USD, per hour and size', () => {
  it('the balance falls by the price of the time the sandbox ran', async () => {
    const api = await target.isolatedAccount();
    const { pricing_usd_per_hour: prices } = expectStatus(await api.get<Account>('/account'), 200);
    const before = await balance(api);
    const { id, ready_at } = await api.create({ size: 'medium' });
    const createdAtMs = performance.now();
    await api.output(id, 'sleep 3');
    const leastMs = performance.now() - createdAtMs;
    const { deleted_at } = expectStatus(await api.delete<Sandbox>(`/sandboxes/${id}`), 200);
    // Billing stops with the request to delete it; until it is deleted, its machine is destroyed.
    const mostMs = Date.parse(deleted_at ?? '') - Date.parse(ready_at ?? '');
    const price = (ms: number) => (ms / hourMs) * (prices.medium ?? 0);
    const spent = before - (await balance(api));
    expect(spent).toBeGreaterThanOrEqual(price(leastMs) - roundingUsd);
    expect(spent).toBeLessThanOrEqual(price(mostMs) + roundingUsd);
  });

  it('deleting stops billing', async () => {
    const api = await target.isolatedAccount();
    const { id } = await api.create();
    await api.delete(`/sandboxes/${id}`);
    const billed = await balance(api);
    await sleep(3_000);
    expect(await balance(api)).toBe(billed);
  });

  it('a running sandbox lowers the balance while it runs', async () => {
    const api = await target.isolatedAccount();
    const { id } = await api.create({ size: 'large' });
    const first = await balance(api);
    await api.output(id, 'sleep 2');
    expect(await balance(api)).toBeLessThan(first);
    await api.delete(`/sandboxes/${id}`);
  });
});

describe('402 insufficient_credits', () => {
  it('create: no credit at all', async (context) => {
    const broke = await target.account(context, 'broke');
    for (const size of ['small', 'large']) {
      expectError(await broke.post('/sandboxes', { size }), 402, 'insufficient_credits');
    }
    expectStatus(await broke.get('/sandboxes'), 200);
  });

  it('create: validation comes before the credit check', async (context) => {
    const broke = await target.account(context, 'broke');
    expectError(await broke.post('/sandboxes', { size: 'huge' }), 400, 'invalid_request');
  });

  it('create: balance below about five minutes of small runtime, for every size', async (context) => {
    const { pricing_usd_per_hour: prices } = expectStatus(await target.api.get<Account>('/account'), 200);
    const fiveMinutes = Math.ceil(((prices.small ?? 0) * 1_000_000 * 5) / 60);
    const below = await target.newAccount(context, { creditMicroUsd: fiveMinutes - 2 });
    expectError(await below.post('/sandboxes'), 402, 'insufficient_credits');
    const enough = await target.newAccount(context, { creditMicroUsd: fiveMinutes });
    const { id } = await enough.create({ size: 'large' });
    await enough.delete(`/sandboxes/${id}`);
  });

  it('after credit is added, the same create and command succeed', async (context) => {
    const { core } = target.localService(context);
    const api = await target.newAccount(context);
    const { id: accountId } = expectStatus(await api.get<Account>('/account'), 200);
    const { id } = await api.create();
    const createAgain = () => api.post<Sandbox>('/sandboxes', {}, { headers: { 'idempotency-key': 'after-credit' } });
    const exec = () => api.post<Execution>(`/sandboxes/${id}/exec`, { command: 'echo paid' });
    await removeCredit(api, core);
    await vi.waitFor(async () => expect(await balance(api)).toBeLessThanOrEqual(0), {
      timeout: 120_000,
      interval: 500,
    });
    expectError(await createAgain(), 402, 'insufficient_credits');
    expectError(await exec(), 402, 'insufficient_credits');
    const credit = { id: randomUUID(), accountId, createdAtMs: Date.now(), note: '' };
    await core.store.ledger.addCredit({ ...credit, amountMicroUsd: 1_000_000 });
    expect(expectStatus(await exec(), 200).stdout).toBe('paid\n');
    const next = expectStatus(await createAgain(), 201);
    await Promise.all([id, next.id].map((one) => api.delete(`/sandboxes/${one}`)));
  });

  it('exec: balance has reached zero; the sandbox keeps running and can be read and deleted', async (context) => {
    const { core } = target.localService(context);
    const api = await target.newAccount(context);
    const key = { headers: { 'idempotency-key': randomUUID() } };
    const { id } = await api.create({}, key);
    expect(await api.output(id, 'echo paid')).toBe('paid');
    await removeCredit(api, core);
    await vi.waitFor(async () => expect(await balance(api)).toBeLessThanOrEqual(0), {
      timeout: 120_000,
      interval: 500,
    });
    expectError(await api.post(`/sandboxes/${id}/exec`, { command: 'touch /tmp/unpaid' }), 402, 'insufficient_credits');
    expectError(await api.post(`/sandboxes/${id}/exec`, { command: '' }), 400, 'invalid_request');
    expect((await api.sandbox(id)).status).toBe('running');
    expectStatus(await api.get(`/sandboxes/${id}/files?path=/tmp`), 200);
    // A replayed create needs no credit, since it creates nothing.
    expect(expectStatus(await api.post<Sandbox>('/sandboxes', {}, key), 200).id).toBe(id);
    expectError(await api.post('/sandboxes'), 402, 'insufficient_credits');
    expectStatus(await api.delete(`/sandboxes/${id}`), 200);
    expect(await balance(api)).toBeLessThan(0);
  });
});
