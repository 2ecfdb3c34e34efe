import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Api, expectError, expectStatus } from '../../support/conformance/api.ts';
import type { AccountBody, SandboxBody } from '../../support/conformance/bodies.ts';
import { eventually } from '../../support/conformance/eventually.ts';
import { useSubject } from '../../support/conformance/subject.ts';

const subject = useSubject();
const hourMs = 3_600_000;

const balance = async (api: Api): Promise<number> =>
  expectStatus(await api.get<AccountBody>('/account'), 200).balance_usd;

/** Takes all credit from an account of a service of one's own. */
const takeCredit = async (api: Api, core: ReturnType<typeof subject.service>['core']): Promise<void> => {
  const { id, balance_usd } = expectStatus(await api.get<AccountBody>('/account'), 200);
  const amountMicroUsd = -Math.ceil(balance_usd * 1_000_000);
  await core.store.ledger.addCredit({
    id: randomUUID(),
    accountId: id,
    amountMicroUsd,
    createdAtMs: Date.now(),
    note: '',
  });
};

describe('usage is billed from a credit balance in USD, per hour and size', () => {
  it('the balance sinks by the price of the time it ran', async () => {
    const api = await subject.quietAccount();
    const { pricing_usd_per_hour: prices } = expectStatus(await api.get<AccountBody>('/account'), 200);
    const before = await balance(api);
    const { id, ready_at } = await api.create({ size: 'medium' });
    await api.output(id, 'sleep 3');
    const { deleted_at } = expectStatus(await api.delete<SandboxBody>(`/sandboxes/${id}`), 200);
    const ranMs = Date.parse(deleted_at ?? '') - Date.parse(ready_at ?? '');
    expect(before - (await balance(api))).toBeCloseTo((ranMs / hourMs) * (prices.medium ?? 0), 5);
  });

  it('deleting stops billing', async () => {
    const api = await subject.quietAccount();
    const { id } = await api.create();
    await api.delete(`/sandboxes/${id}`);
    const settled = await balance(api);
    const laterMs = Date.now() + 3_000;
    await eventually(async () => expect(Date.now()).toBeGreaterThan(laterMs), 10_000);
    expect(await balance(api)).toBe(settled);
  });

  it('a running sandbox lowers the balance while it runs', async () => {
    const api = await subject.quietAccount();
    const { id } = await api.create({ size: 'large' });
    const first = await balance(api);
    await api.output(id, 'sleep 2');
    expect(await balance(api)).toBeLessThan(first);
    await api.delete(`/sandboxes/${id}`);
  });
});

describe('402 insufficient_credits', () => {
  it('create: with no credit at all', async (context) => {
    const broke = await subject.account(context, 'broke');
    for (const size of ['small', 'large']) {
      expectError(await broke.post('/sandboxes', { size }), 402, 'insufficient_credits');
    }
    expectStatus(await broke.get('/sandboxes'), 200);
  });

  it('a wrong field is said before the missing credit', async (context) => {
    const broke = await subject.account(context, 'broke');
    expectError(await broke.post('/sandboxes', { size: 'huge' }), 400, 'invalid_request');
  });

  it('create: balance below about five minutes of small runtime, whatever the size', async (context) => {
    const { pricing_usd_per_hour: prices } = expectStatus(await subject.api.get<AccountBody>('/account'), 200);
    const fiveMinutes = Math.ceil(((prices.small ?? 0) * 1_000_000 * 5) / 60);
    const below = await subject.newAccount(context, { creditMicroUsd: fiveMinutes - 2 });
    expectError(await below.post('/sandboxes'), 402, 'insufficient_credits');
    const enough = await subject.newAccount(context, { creditMicroUsd: fiveMinutes });
    const { id } = await enough.create({ size: 'large' });
    await enough.delete(`/sandboxes/${id}`);
  });

  it('exec: balance has reached zero; the sandbox keeps running and can be looked at and deleted', async (context) => {
    const { core } = subject.service(context);
    const api = await subject.newAccount(context);
    const key = { headers: { 'idempotency-key': randomUUID() } };
    const { id } = await api.create({}, key);
    expect(await api.output(id, 'echo paid')).toBe('paid');
    await takeCredit(api, core);
    await eventually(async () => expect(await balance(api)).toBeLessThanOrEqual(0), 10_000);
    expectError(await api.post(`/sandboxes/${id}/exec`, { command: 'touch /tmp/unpaid' }), 402, 'insufficient_credits');
    expectError(await api.post(`/sandboxes/${id}/exec`, { command: '' }), 400, 'invalid_request');
    expect((await api.sandbox(id)).status).toBe('running');
    expectStatus(await api.get(`/sandboxes/${id}/files?path=/tmp`), 200);
    // A repeated create makes nothing, so it needs no credit.
    expect(expectStatus(await api.post<SandboxBody>('/sandboxes', {}, key), 200).id).toBe(id);
    expectError(await api.post('/sandboxes'), 402, 'insufficient_credits');
    expectStatus(await api.delete(`/sandboxes/${id}`), 200);
    expect(await balance(api)).toBeLessThan(0);
  });
});
