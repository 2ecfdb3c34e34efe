import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';

let service: Awaited<ReturnType<typeof stubService>>;
beforeEach(async () => {
  service = await stubService({ teardownMs: 50 });
});
afterEach(() => service[Symbol.asyncDispose]());

const page = (remoteAddress = '127.0.0.1', headers: Record<string, string> = {}) =>
  service.app.inject({ url: '/metrics', remoteAddress, headers });
const text = async () => (await page()).body;

describe('access to /metrics', () => {
  test.each(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])('%s is allowed without a key', async (address) => {
    const answer = await page(address);
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, expect.stringMatching(/^text\/plain/)]);
    expect(answer.headers['x-request-id']).toBeDefined();
  });

  test.each(['10.0.0.7', '::ffff:10.0.0.7', '2001:db8::1'])('%j is refused', async (address) => {
    const answer = await page(address);
    expect([answer.statusCode, answer.json()]).toEqual([404, expect.objectContaining({ error: expect.anything() })]);
  });

  test('a request forwarded by a proxy is refused, whichever address it claims', async () => {
    expect((await page('127.0.0.1', { 'x-forwarded-for': '10.0.0.7' })).statusCode).toBe(404);
    expect((await page('10.0.0.7', { 'x-forwarded-for': '127.0.0.1' })).statusCode).toBe(404);
  });

  test.each(['localhost', 'LOCALHOST:8080', '127.0.0.1:8080', '[::1]:8080'])('a client asks for %s', async (host) => {
    expect((await page('127.0.0.1', { host })).statusCode).toBe(200);
  });

  test.each([
    'evil.example',
    'evil.example:8080',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '10.0.0.7',
    '[::2]',
  ])('a page whose name %j resolves to this host is refused', async (host) => {
    expect((await page('127.0.0.1', { host })).statusCode).toBe(404);
  });

  test('every address is allowed when the operator makes the metrics public', async () => {
    await service[Symbol.asyncDispose]();
    service = await stubService({}, { MAYFLY_METRICS_PUBLIC: 'true' });
    expect((await page('10.0.0.7', { host: 'metrics.example' })).statusCode).toBe(200);
  });

  const restart = async (settings: NodeJS.ProcessEnv) => {
    await service[Symbol.asyncDispose]();
    service = await stubService({}, settings);
  };
  const token = 'a-token-of-the-operator-0123456789';
  const statusWith = async (address: string, authorization: string) =>
    (await page(address, { host: 'metrics.example', authorization })).statusCode;

  test.each(['true', '127.0.0.1'])('behind the proxy %s nobody is taken for this host', async (proxy) => {
    await restart({ MAYFLY_TRUST_PROXY: proxy });
    expect((await page('127.0.0.1', { host: '127.0.0.1:8080' })).statusCode).toBe(404);
    expect((await page('127.0.0.1', { authorization: 'Bearer undefined' })).statusCode).toBe(404);
  });

  test.each(['false', '127.0.0.1'])('the token opens the metrics from anywhere, with the proxy %s', async (proxy) => {
    await restart({ MAYFLY_TRUST_PROXY: proxy, MAYFLY_METRICS_TOKEN: token });
    for (const address of ['127.0.0.1', '10.0.0.7']) {
      expect(await statusWith(address, `Bearer ${token}`)).toBe(200);
      for (const wrong of [`Bearer ${token}x`, 'Bearer', `Basic ${token}`, token]) {
        expect(await statusWith(address, wrong)).toBe(404);
      }
    }
  });

  test('a client on this host needs no token without a proxy', async () => {
    await restart({ MAYFLY_METRICS_TOKEN: token });
    expect((await page()).statusCode).toBe(200);
  });
});

test('requests are counted by route pattern, and unknown paths as one', async () => {
  const { body } = await service.call('POST', '/v1/sandboxes');
  await service.call('GET', `/v1/sandboxes/${body.id}`);
  await service.call('GET', '/v1/sandboxes/sbx_other');
  await service.call('GET', '/v1/one');
  await service.call('GET', '/two');
  const shown = await text();
  expect(shown).toContain('mayfly_http_requests_total{method="GET",route="/v1/sandboxes/:id",status="200"} 1');
  expect(shown).toContain('mayfly_http_requests_total{method="GET",route="/v1/sandboxes/:id",status="404"} 1');
  expect(shown).toContain('mayfly_http_requests_total{method="GET",route="none",status="404"} 2');
  expect(shown).toContain('mayfly_errors_total{type="not_found"} 3');
});

test('the life of sandboxes is counted', async () => {
  const first = (await service.call('POST', '/v1/sandboxes')).body;
  const second = (await service.call('POST', '/v1/sandboxes', { size: 'large' })).body;
  await service.call('POST', `/v1/sandboxes/${first.id}/exec`, { command: 'ls' });
  service.driver.beforeLaunched = () => Promise.reject(new Error('no room'));
  await service.call('POST', '/v1/sandboxes');
  service.clock.advanceMs(3_600_000);
  service.driver.machines[1]?.die('killed');
  await service.core.background.idle();
  const machine = service.driver.machines[0];
  if (machine) machine.beforeDestroyed = () => Promise.reject(new Error('busy'));
  await service.call('DELETE', `/v1/sandboxes/${first.id}`);
  const shown = await text();
  for (const line of [
    'mayfly_create_duration_seconds_count{size="small",pooled="no",outcome="ready"} 1',
    'mayfly_create_duration_seconds_count{size="small",pooled="no",outcome="failed"} 1',
    'mayfly_restore_duration_seconds_count{size="large",purpose="create",outcome="ok"} 1',
    'mayfly_restore_duration_seconds_count{size="small",purpose="create",outcome="failed"} 1',
    'mayfly_pool_claims_total{size="small",outcome="miss"} 2',
    'mayfly_pool_claims_total{size="large",outcome="miss"} 0',
    'mayfly_command_duration_seconds_count{status="completed"} 1',
    'mayfly_machine_deaths_total{role="sandbox",size="large"} 1',
    'mayfly_teardowns_failed_total 1',
    'mayfly_teardowns_waiting 1',
    // A quarter of an hour each: nothing is charged past the expiry.
    'mayfly_ledger_charged_micro_usd_total 62500',
    'mayfly_sandboxes{status="deleting",size="small"} 1',
    'mayfly_sandboxes{status="running",size="large"} 0',
    'mayfly_errors_total{type="provisioning_failed"} 1',
  ]) {
    expect(shown).toContain(`${line}\n`);
  }
  expect(second.size).toBe('large');
  if (machine) machine.beforeDestroyed = async () => {};
  await vi.waitFor(async () => expect(await text()).toContain('mayfly_teardowns_retried_total 1\n'), 5_000);
});

test('refusals by rate limit and by capacity are counted', async () => {
  await service[Symbol.asyncDispose]();
  service = await stubService({}, { MAYFLY_LIMIT_CREATIONS_PER_MINUTE: '2', MAYFLY_MAX_MACHINES: '1' });
  for (const status of [201, 503, 429]) expect((await service.call('POST', '/v1/sandboxes')).status).toBe(status);
  const shown = await text();
  expect(shown).toContain('mayfly_rate_limit_refusals_total{window="creations"} 1\n');
  expect(shown).toContain('mayfly_capacity_refusals_total{reason="ceiling"} 1\n');
});

describe('/preview-root.crt', () => {
  const fetchRoot = () => service.app.inject({ url: '/preview-root.crt' });

  test('returns the root certificate without a key', async () => {
    const pem = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
    service.setPreviewRoot(pem);
    const answer = await fetchRoot();
    expect([answer.statusCode, answer.body]).toEqual([200, pem]);
    expect(answer.headers['content-type']).toBe('application/x-pem-file');
  });

  test('is not found when the operator brings a certificate', async () => {
    const answer = await fetchRoot();
    expect([answer.statusCode, answer.json()]).toMatchObject([404, { error: { type: 'not_found' } }]);
  });
});
