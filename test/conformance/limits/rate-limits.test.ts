import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { type Api, type ApiResponse, expectError, expectStatus } from '../../support/conformance/api.ts';
import { isExternal } from '../../support/conformance/external-service.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget();
// On an external service all tests share the limits of the main account. On a local one, each test has its own account.
const suite = isExternal ? describe.sequential : describe.concurrent;

function header(response: ApiResponse<unknown>, name: string): number {
  return Number(response.headers[name]);
}

/** Repeats a request until it opens a new window that lasts long enough for the test. */
async function openWindow(
  request: () => Promise<ApiResponse<unknown>>,
  remaining: number,
): Promise<ApiResponse<unknown>> {
  return await vi.waitFor(
    async () => {
      const response = await request();
      expect(header(response, 'ratelimit-reset'), 'the window ends soon').toBeGreaterThan(20);
      expect(header(response, 'ratelimit-remaining'), 'the window has been used').toBe(remaining);
      return response;
    },
    { timeout: 130_000, interval: 2_000 },
  );
}

/** Waits until the rate-limit window that refused a request has ended. */
async function waitForNextWindow(refused: ApiResponse<unknown>): Promise<void> {
  await sleep((header(refused, 'retry-after') + 1) * 1000);
}

function expectRefusal(response: ApiResponse<unknown>, limit: number): void {
  expectError(response, 429, 'rate_limit_exceeded');
  expect(header(response, 'ratelimit-limit')).toBe(limit);
  expect(header(response, 'ratelimit-remaining')).toBe(0);
  expect(header(response, 'ratelimit-reset')).toBeGreaterThan(0);
  expect(header(response, 'retry-after')).toBeGreaterThan(0);
  expect(header(response, 'retry-after')).toBeLessThanOrEqual(60);
}

suite('rate-limit windows of 60 seconds', () => {
  it('120 requests per minute per account: the 121st is 429 rate_limit_exceeded, with any key of the account', async (context) => {
    const api = await target.isolatedAccount();
    const call = (client: Api = api) => client.get('/account', { paced: false });
    const first = await openWindow(call, 119);
    expect(header(first, 'ratelimit-limit')).toBe(120);
    const responses: ApiResponse<unknown>[] = [];
    // Unknown paths and invalid requests count too.
    responses.push(await api.get('/no/such/path', { paced: false }));
    responses.push(await api.post('/sandboxes', { size: 'huge' }, { paced: false }));
    responses.push(await api.post('/sandboxes', undefined, { raw: '{', paced: false }));
    while (responses.length < 119) responses.push(await call());
    expect(responses.map((response) => header(response, 'ratelimit-remaining'))).toEqual(
      responses.map((_, at) => 118 - at),
    );
    const refused = await call();
    expectRefusal(refused, 120);
    expectRefusal(await api.post('/sandboxes', {}, { paced: false }), 120);
    expectRefusal(await api.get('/no/such/path', { paced: false }), 120);
    if (!isExternal) expectRefusal(await call(await target.newKey(context, api)), 120);
    await waitForNextWindow(refused);
    const after = await call();
    expectStatus(after, 200);
    expect(header(after, 'ratelimit-remaining')).toBeGreaterThanOrEqual(100);
  });

  it('150 concurrent requests: at most 120 are served', async () => {
    const api = await target.isolatedAccount();
    await openWindow(() => api.get('/account', { paced: false }), 119);
    const responses = await Promise.all(Array.from({ length: 150 }, () => api.get('/account', { paced: false })));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(119);
    const [refused, ...others] = responses.filter(({ status }) => status !== 200);
    for (const response of others) expectError(response, 429, 'rate_limit_exceeded');
    if (refused) await waitForNextWindow(refused);
  });

  it('40 creations per minute per account, in addition; invalid ones count too', async () => {
    const api = await target.isolatedAccount();
    const call = () => api.post('/sandboxes', { size: 'huge' }, { paced: false });
    const responses: ApiResponse<unknown>[] = [];
    await openWindow(() => api.get('/account', { paced: false }), 119);
    while (responses.length < 40) responses.push(await call());
    for (const response of responses) expectError(response, 400, 'invalid_request');
    const refused = await call();
    expectRefusal(refused, 40);
    // Other requests are still served, with the headers of the general window.
    const other = await api.get('/sandboxes', { paced: false });
    expectStatus(other, 200);
    expect(header(other, 'ratelimit-limit')).toBe(120);
    expect(header(other, 'ratelimit-remaining')).toBe(120 - 1 - 40 - 1 - 1);
    await waitForNextWindow(refused);
    expectError(await call(), 400, 'invalid_request');
  });

  it('300 requests per minute per source IP, counted before key verification', async () => {
    const api = await target.isolatedAccount();
    const call = () => api.get('/account', { authorization: null, paced: false });
    const first = await vi.waitFor(
      async () => {
        const response = await call();
        expect(header(response, 'ratelimit-reset'), 'the window ends soon').toBeGreaterThan(30);
        return response;
      },
      { timeout: 130_000, interval: 2_000 },
    );
    expect(header(first, 'ratelimit-limit')).toBe(300);
    for (let left = header(first, 'ratelimit-remaining'); left > 0; left -= 1) {
      const response = await call();
      expectError(response, 401, 'unauthorized');
      expect(header(response, 'ratelimit-remaining')).toBe(left - 1);
    }
    const refused = await call();
    expectRefusal(refused, 300);
    expect(refused.headers['access-control-allow-origin']).toBe('*');
    // With a valid key, and with an invalid one that is not even verified.
    expectRefusal(await api.get('/account', { paced: false }), 300);
    expectRefusal(await api.get('/account', { authorization: 'Bearer mf_unknown', paced: false }), 300);
    await waitForNextWindow(refused);
    expectStatus(await api.get('/account'), 200);
  });

  it('a request without a valid key does not count towards the limit of an account', async () => {
    const api = await target.isolatedAccount();
    const before = await openWindow(() => api.get('/account', { paced: false }), 119);
    for (const authorization of [null, 'Bearer mf_unknown', 'Basic x']) await api.get('/account', { authorization });
    const after = await api.get('/account');
    expect(header(after, 'ratelimit-remaining')).toBe(header(before, 'ratelimit-remaining') - 1);
  });
});
