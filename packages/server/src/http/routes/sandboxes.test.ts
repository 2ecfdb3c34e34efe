import { deletedSandboxSchema, sandboxListSchema, sandboxSchema } from '@mayfly/contract';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import { HeldResult } from '../../core/budgets/held-result.ts';
import { runCommand } from '../../core/executions/run.ts';
import { reconcile } from '../../core/recovery/reconcile.ts';
import { deleteSandbox, expireSandboxes } from '../../core/sandboxes/end.ts';
import { getSandbox } from '../../core/sandboxes/read.ts';

let service: Awaited<ReturnType<typeof stubService>>;
beforeEach(async () => {
  service = await stubService({ launchMs: 2000, attachMs: 2000, teardownMs: 50 });
});
afterEach(() => service[Symbol.asyncDispose]());

const create = async (body?: unknown, headers?: Record<string, string>) =>
  service.call('POST', '/v1/sandboxes', body, headers);
const get = async (id: string) => (await service.call('GET', `/v1/sandboxes/${id}`)).body;

describe('create', () => {
  test('returns a running sandbox and its location', async () => {
    const { status, headers, body } = await create({ name: 'build', size: 'medium', timeout_minutes: 30 });
    expect(status).toBe(201);
    expect(sandboxSchema.parse(body)).toEqual({
      object: 'sandbox',
      id: expect.stringMatching(/^sbx_[a-z2-7]{24}$/),
      name: 'build',
      status: 'running',
      status_reason: null,
      size: 'medium',
      resources: { vcpu: 4, memory_gb: 8, disk_gb: 80 },
      snapshot_id: null,
      timeout_minutes: 30,
      created_at: '2026-01-01T00:00:00.000Z',
      ready_at: '2026-01-01T00:00:00.000Z',
      expires_at: '2026-01-01T00:30:00.000Z',
      ended_at: null,
      deleted_at: null,
    });
    expect(headers.location).toBe(`http://localhost/v1/sandboxes/${body.id}`);
    expect(await get(body.id)).toEqual(body);
    expect(service.connector.identities).toEqual([
      {
        hostname: body.id.replace('_', '-'),
        machineId: expect.stringMatching(/^[0-9a-f]{32}$/),
        expiresAtMs: Date.UTC(2026, 0, 1, 0, 30),
      },
    ]);
  });

  test('a machine that does not launch: 503, a failed record, and the Idempotency-Key can be reused', async () => {
    service.driver.beforeLaunched = () =>
      Promise.reject(new Error('qemu-system failed: /var/lib/mayfly/machines/x: EIO'));
    const failed = await create({}, { 'idempotency-key': 'k' });
    expect([failed.status, failed.body.error.type]).toEqual([503, 'provisioning_failed']);
    expect(failed.body.error.message).toBe(
      'The sandbox could not be provisioned: the machine did not start. Try again.',
    );
    const { body } = await service.call('GET', '/v1/sandboxes');
    expect(body.data[0]).toMatchObject({
      status: 'failed',
      status_reason: 'provisioning_failed: the machine did not start',
      ready_at: null,
      ended_at: '2026-01-01T00:00:00.000Z',
    });
    service.driver.beforeLaunched = async () => {};
    expect((await create({}, { 'idempotency-key': 'k' })).status).toBe(201);
  });

  test('an agent that does not answer: 503, and the machine is destroyed', async () => {
    service.connector.attachError = new Error('no answer');
    expect((await create()).status).toBe(503);
    expect(service.driver.newest.destroyed).toBe(true);
  });

  test('a machine that dies before it is ready: immediate 503', async () => {
    service.connector.attach = async () => {
      service.driver.newest.die('it fell over');
      return new Promise(() => {});
    };
    const answer = await create();
    expect([answer.status, answer.body.error.message]).toEqual([503, expect.stringContaining('it fell over')]);
  });

  test('a launch that takes too long: 503, and the late machine is destroyed', async () => {
    await service[Symbol.asyncDispose]();
    service = await stubService({ launchMs: 20 });
    const late = Promise.withResolvers<void>();
    service.driver.beforeLaunched = () => late.promise;
    expect((await create()).status).toBe(503);
    late.resolve();
    await vi.waitFor(() => expect(service.driver.newest.destroyed).toBe(true), { timeout: 30_000 });
  });

  test('the same Idempotency-Key returns the same sandbox, whatever the body', async () => {
    const first = await create({ name: 'one' }, { 'idempotency-key': 'k' });
    const again = await create({ name: 'two' }, { 'idempotency-key': 'k' });
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(again.body).toEqual(first.body);
    expect(service.driver.machines).toHaveLength(1);
  });

  test('the key of a sandbox that failed after it was running still returns that sandbox', async () => {
    const { body } = await create({}, { 'idempotency-key': 'k' });
    service.driver.newest.die('killed by SIGKILL');
    await service.core.background.idle();
    const again = await create({}, { 'idempotency-key': 'k' });
    expect([again.status, again.body.id, again.body.status]).toEqual([200, body.id, 'failed']);
    expect(service.driver.machines).toHaveLength(1);
  });

  test('two simultaneous creates with one Idempotency-Key: one creates, both return the sandbox', async () => {
    const both = await Promise.all([1, 2].map(() => create({}, { 'idempotency-key': 'k' })));
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([200, 201]));
    expect(both[0]?.body).toEqual(both[1]?.body);
    expect(both[0]?.body.status).toBe('running');
  });

  test('two simultaneous creates with one Idempotency-Key that fail: both answer 503', async () => {
    const launched = Promise.withResolvers<void>();
    service.driver.beforeLaunched = () => launched.promise;
    const both = Promise.all([1, 2].map(() => create({}, { 'idempotency-key': 'k' })));
    await vi.waitFor(async () => expect((await service.call('GET', '/v1/sandboxes')).body.data).toHaveLength(1), {
      timeout: 30_000,
    });
    launched.reject(new Error('no'));
    expect((await both).map(({ status }) => status)).toEqual([503, 503]);
  });
});

describe('list', () => {
  test('pages contain every sandbox once, newest first, even when all were created at the same moment', async () => {
    const created = await Promise.all(Array.from({ length: 7 }, () => create()));
    const seen: string[] = [];
    let query = 'limit=3';
    for (;;) {
      const { body } = await service.call('GET', `/v1/sandboxes?${query}`);
      sandboxListSchema.parse(body);
      seen.push(...body.data.map(({ id }) => id));
      if (!body.has_more) break;
      query = `limit=3&starting_after=${body.next_cursor}`;
    }
    const newestFirst = created.map(({ body }) => body).toSorted((a, b) => (a.created_at < b.created_at ? 1 : -1));
    expect(seen).toEqual(newestFirst.map(({ id }) => id));
  });

  test('a cursor may be a time at which nothing was created', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 3; count++) {
      ids.unshift((await create()).body.id);
      service.clock.advanceMs(1_000);
    }
    const after = async (ms: number) => {
      const cursor = new Date(service.clock.nowMs() - ms).toISOString();
      return (await service.call('GET', `/v1/sandboxes?starting_after=${cursor}`)).body.data.map(({ id }) => id);
    };
    expect(await after(-86_400_000)).toEqual(ids);
    expect(await after(1_500)).toEqual(ids.slice(1));
    expect(await after(2_001)).toEqual(ids.slice(2));
    expect(await after(3_001)).toEqual([]);
  });

  test('omits deleted sandboxes by default', async () => {
    const { body } = await create();
    await service.call('DELETE', `/v1/sandboxes/${body.id}`);
    expect((await service.call('GET', '/v1/sandboxes')).body.data).toEqual([]);
    const all = await service.call('GET', '/v1/sandboxes?include_deleted=true');
    expect(all.body.data[0]).toMatchObject({ id: body.id, status: 'deleted', status_reason: 'deleted' });
  });

  test('refuses a limit out of range and an invalid cursor', async () => {
    const { status, body } = await service.call('GET', '/v1/sandboxes?limit=101&starting_after=x');
    expect([status, body.error.message]).toEqual([
      400,
      'limit must be an integer from 1 to 100; starting_after must be a date-time',
    ]);
  });
});

describe('delete', () => {
  test('returns once the machine is destroyed; a second delete is not found', async () => {
    const { body } = await create();
    const deleted = await service.call('DELETE', `/v1/sandboxes/${body.id}`);
    expect(deleted.status).toBe(200);
    deletedSandboxSchema.parse(deleted.body);
    expect(service.driver.newest.destroyed).toBe(true);
    expect((await service.call('DELETE', `/v1/sandboxes/${body.id}`)).status).toBe(404);
    expect(await get(body.id)).toMatchObject({ status: 'deleted', status_reason: 'deleted' });
  });

  test('a slow teardown: 202 and deleting, then deleted once the machine is destroyed', async () => {
    const { body } = await create();
    const gone = Promise.withResolvers<void>();
    service.driver.newest.beforeDestroyed = () => gone.promise;
    const deleting = await service.call('DELETE', `/v1/sandboxes/${body.id}`);
    expect([deleting.status, deleting.body.status]).toEqual([202, 'deleting']);
    const { ended_at } = sandboxSchema.parse(deleting.body);
    expect(ended_at).toBe('2026-01-01T00:00:00.000Z');
    service.clock.advanceMs(5_000);
    expect((await service.call('DELETE', `/v1/sandboxes/${body.id}`)).status).toBe(202);
    for (const [method, path, sent] of [
      ['POST', 'exec', { command: 'ls' }],
      ['PUT', 'files', { path: 'a', content: 'a' }],
      ['GET', 'files'],
      ['DELETE', 'files?path=a'],
      ['POST', 'extend'],
    ] as const) {
      const refused = await service.call(method, `/v1/sandboxes/${body.id}/${path}`, sent);
      expect([refused.status, refused.body.error.type]).toEqual([409, 'sandbox_not_running']);
      expect(refused.body.error.message).toContain('deleting');
    }
    gone.resolve();
    await vi.waitFor(async () => expect((await get(body.id)).status).toBe('deleted'), { timeout: 30_000 });
    expect(await get(body.id)).toMatchObject({ ended_at, deleted_at: '2026-01-01T00:00:05.000Z' });
  });

  test('a failed teardown is retried in the background', async () => {
    const { body } = await create();
    const { newest } = service.driver;
    newest.beforeDestroyed = () => Promise.reject(new Error('stuck'));
    expect((await service.call('DELETE', `/v1/sandboxes/${body.id}`)).status).toBe(202);
    expect((await get(body.id)).status).toBe('deleting');
    newest.beforeDestroyed = async () => {};
    await vi.waitFor(async () => expect((await get(body.id)).status).toBe('deleted'), 5_000);
    expect(await get(body.id)).toMatchObject({ status_reason: 'deleted' });
  });

  test('during provisioning: 202, the create answers 503, and the machine is destroyed', async () => {
    const launched = Promise.withResolvers<void>();
    service.driver.beforeLaunched = () => launched.promise;
    const creating = create();
    const id = await vi.waitFor(
      async () => {
        const [sandbox] = (await service.call('GET', '/v1/sandboxes')).body.data;
        expect(sandbox?.status).toBe('provisioning');
        return sandbox?.id ?? '';
      },
      { timeout: 30_000 },
    );
    const exec = await service.call('POST', `/v1/sandboxes/${id}/exec`, { command: 'ls' });
    expect([exec.status, exec.body.error.message]).toEqual([409, expect.stringContaining('provisioning')]);
    expect((await service.call('DELETE', `/v1/sandboxes/${id}`)).status).toBe(202);
    launched.resolve();
    expect((await creating).status).toBe(503);
    expect(service.driver.newest.destroyed).toBe(true);
    expect(await get(id)).toMatchObject({ status: 'deleted', status_reason: 'deleted' });
  });

  test('a failed sandbox is deleted immediately and keeps its status_reason and ended_at', async () => {
    const { body } = await create();
    service.clock.advanceMs(10_000);
    service.driver.newest.die('killed by SIGKILL');
    await vi.waitFor(async () => expect((await get(body.id)).status).toBe('failed'), { timeout: 30_000 });
    service.clock.advanceMs(10_000);
    expect((await service.call('DELETE', `/v1/sandboxes/${body.id}`)).status).toBe(200);
    expect(await get(body.id)).toMatchObject({
      status: 'deleted',
      status_reason: 'machine_died: killed by SIGKILL',
      ended_at: '2026-01-01T00:00:10.000Z',
      deleted_at: '2026-01-01T00:00:20.000Z',
    });
  });
});

test('an expired sandbox is deleted with its machine, and ended at its expiry', async () => {
  const { body } = await create({ timeout_minutes: 1 });
  service.clock.advanceMs(59_999);
  await expireSandboxes(service.core);
  expect(await get(body.id)).toMatchObject({ status: 'running', ended_at: null });
  service.clock.advanceMs(30_001);
  await expireSandboxes(service.core);
  expect(await get(body.id)).toMatchObject({
    status: 'deleted',
    status_reason: 'expired',
    ended_at: body.expires_at,
    deleted_at: '2026-01-01T00:01:30.000Z',
  });
  expect(service.driver.newest.destroyed).toBe(true);
});

test('a sandbox whose machine dies after its expiry has expired', async () => {
  const { body } = await create({ timeout_minutes: 1 });
  service.clock.advanceMs(60_000);
  service.driver.newest.die('killed by SIGKILL');
  await vi.waitFor(
    async () => expect(await get(body.id)).toMatchObject({ status: 'deleted', status_reason: 'expired' }),
    { timeout: 30_000 },
  );
});

test('a teardown that is stuck delays neither other expiries nor the next sweep', async () => {
  await using stuck = await stubService({ teardownMs: 50 });
  const expiring = async () => {
    const { body } = await stuck.call('POST', '/v1/sandboxes', { timeout_minutes: 1 });
    return { id: body.id, machine: stuck.driver.newest };
  };
  const statusOf = async (id: string) => (await stuck.call('GET', `/v1/sandboxes/${id}`)).body.status;
  const [one, two, later] = [await expiring(), await expiring(), await expiring()];
  await stuck.call('POST', `/v1/sandboxes/${later.id}/extend`, { additional_minutes: 1 });
  const released = Promise.withResolvers<void>();
  one.machine.beforeDestroyed = () => released.promise;
  stuck.clock.advanceMs(60_000);
  await expireSandboxes(stuck.core);
  expect([await statusOf(one.id), await statusOf(two.id)]).toEqual(['deleting', 'deleted']);
  await reconcile(stuck.core);
  stuck.clock.advanceMs(60_000);
  await expireSandboxes(stuck.core);
  expect(await statusOf(later.id)).toBe('deleted');
  released.resolve();
  await stuck.core.background.idle();
  expect(await statusOf(one.id)).toBe('deleted');
});

test('a machine that dies makes its sandbox failed, with the reason', async () => {
  const { body } = await create();
  service.driver.newest.die('the guest powered itself off');
  await vi.waitFor(
    async () =>
      expect(await get(body.id)).toMatchObject({
        status: 'failed',
        status_reason: 'machine_died: the guest powered itself off',
      }),
    { timeout: 30_000 },
  );
  const exec = await service.call('POST', `/v1/sandboxes/${body.id}/exec`, { command: 'ls' });
  expect([exec.status, exec.body.error.type]).toEqual([409, 'sandbox_not_running']);
  expect(exec.body.error.message).toContain('failed');
});

test('ids of other accounts are reported like unknown ids', async () => {
  const { body } = await create();
  const stranger = { id: 'acct_2', email: 'b@localhost', suspended: false, limits: {}, createdAtMs: 0 };
  const kind = { stream: false, background: false, stdin: null };
  const command = { command: 'ls', cwd: '/', env: {}, timeout_ms: 1000, ...kind };
  using held = new HeldResult(service.core.budgets.resultBytes, stranger.id);
  for (const id of [body.id, 'sbx_unknown']) {
    const notFound = { type: 'not_found', message: 'No such sandbox.' };
    await expect(getSandbox(service.core, stranger, id)).rejects.toMatchObject(notFound);
    await expect(deleteSandbox(service.core, stranger, id)).rejects.toMatchObject(notFound);
    await expect(runCommand(service.core, stranger, id, command, held)).rejects.toMatchObject(notFound);
  }
  expect((await get(body.id)).status).toBe('running');
});
