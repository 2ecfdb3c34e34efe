import type { Sandbox } from '@mayfly/contract';
import { describe, expect, it } from 'vitest';
import { expectError, expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget();

function minutesBetween(from: string | null, to: string | null): number {
  return (Date.parse(to ?? '') - Date.parse(from ?? '')) / 60_000;
}

describe('POST /sandboxes', () => {
  it('201: Sandbox with status running, plus a Location header with the URL of the sandbox', async () => {
    const { api } = target;
    const response = await api.post<Sandbox>('/sandboxes');
    const sandbox = expectStatus(response, 201);
    expect(sandbox.status).toBe('running');
    const url = new URL(`${api.baseUrl}/sandboxes/${sandbox.id}`);
    expect(URL.parse(response.headers.location ?? '')?.pathname).toBe(url.pathname);
    expect(await api.sandbox(sandbox.id)).toEqual(sandbox);
    await api.delete(`/sandboxes/${sandbox.id}`);
  });

  it('an empty body or {} is valid; size small, name null, timeout_minutes 15 are the defaults', async () => {
    const { api } = target;
    for (const body of [undefined, {}, { size: null, name: null, timeout_minutes: null }]) {
      const sandbox = await api.create(body);
      expect(sandbox).toMatchObject({ size: 'small', name: null, timeout_minutes: 15, deleted_at: null });
      await api.delete(`/sandboxes/${sandbox.id}`);
    }
  });

  it('ready_at and expires_at are set; the lifetime is timeout_minutes, at most 1440 minutes after creation', async () => {
    const { api } = target;
    for (const timeout_minutes of [1, 1440]) {
      const sandbox = await api.create({ timeout_minutes });
      const { created_at, ready_at, expires_at } = sandbox;
      expect(minutesBetween(created_at, ready_at)).toBeGreaterThanOrEqual(0);
      expect(Math.abs(minutesBetween(ready_at, expires_at) - timeout_minutes)).toBeLessThan(1);
      expect(minutesBetween(created_at, expires_at)).toBeLessThanOrEqual(1440);
      await api.delete(`/sandboxes/${sandbox.id}`);
    }
  });

  it.each([
    ['small', 2, 4, 40],
    ['medium', 4, 8, 80],
    ['large', 8, 16, 160],
  ])('size %s has %i vcpu, %i GB of memory, %i GB of disk', async (size, vcpu, memory_gb, disk_gb) => {
    const { api } = target;
    const sandbox = await api.create({ size });
    expect(sandbox).toMatchObject({ size, resources: { vcpu, memory_gb, disk_gb } });
    expect(await api.output(sandbox.id, 'nproc')).toBe(String(vcpu));
    await api.delete(`/sandboxes/${sandbox.id}`);
  });

  it('a name has at most 100 characters, of any width', async () => {
    const { api } = target;
    for (const name of ['n'.repeat(100), '🦋'.repeat(100), '']) {
      const sandbox = await api.create({ name });
      expect(sandbox.name).toBe(name);
      await api.delete(`/sandboxes/${sandbox.id}`);
    }
    for (const name of ['n'.repeat(101), '🦋'.repeat(101)]) {
      expect(expectError(await api.post('/sandboxes', { name }), 400, 'invalid_request')).toContain('name');
    }
  });

  it('creation is synchronous: the call returns only when the sandbox is ready to accept commands', async () => {
    const { api } = target;
    const sandbox = await api.create({ unknown_field: [1, 2, 3] });
    expect(await api.exec(sandbox.id, 'echo ready')).toMatchObject({ exit_code: 0, stdout: 'ready\n' });
    await api.delete(`/sandboxes/${sandbox.id}`);
  });

  it.each([
    ['unknown size', { size: 'huge' }, 'size'],
    ['size in capitals', { size: 'SMALL' }, 'size'],
    ['size not a string', { size: 2 }, 'size'],
    ['name not a string', { name: 7 }, 'name'],
    ['timeout_minutes 0', { timeout_minutes: 0 }, 'timeout_minutes'],
    ['timeout_minutes 1441', { timeout_minutes: 1441 }, 'timeout_minutes'],
    ['timeout_minutes 1.5', { timeout_minutes: 1.5 }, 'timeout_minutes'],
    ['timeout_minutes as a string', { timeout_minutes: '15' }, 'timeout_minutes'],
    ['timeout_minutes beyond the integer range', { timeout_minutes: 1e300 }, 'timeout_minutes'],
    ['network, which does not exist yet', { network: { egress: 'none' } }, 'network'],
    ['both snapshot_id and template', { snapshot_id: 'snap_1', template: 'node' }, 'template'],
    ['metadata, which does not exist yet', { metadata: { team: 'a' } }, 'metadata'],
    ['env, which does not exist yet', { env: { A: 'x' } }, 'env'],
    ['idle_pause_minutes, which does not exist yet', { idle_pause_minutes: 5 }, 'idle_pause_minutes'],
    ['an array as the body', [], 'body'],
    ['a string as the body', 'small', 'body'],
  ])('400 invalid_request: %s', async (_what, body, rule) => {
    expect(expectError(await target.api.post('/sandboxes', body), 400, 'invalid_request')).toContain(rule);
  });

  it('the message lists every failing rule, joined by ";"', async () => {
    const { api } = target;
    const body = { size: 'huge', name: 'n'.repeat(101), timeout_minutes: 0 };
    const headers = { 'idempotency-key': 'k'.repeat(256) };
    const rules = expectError(await api.post('/sandboxes', body, { headers }), 400, 'invalid_request').split(';');
    expect(rules).toHaveLength(4);
    for (const name of ['size', 'name', 'timeout_minutes', 'Idempotency-Key']) {
      expect(rules.filter((rule) => rule.includes(name))).toHaveLength(1);
    }
  });

  it('an invalid create leaves no record', async () => {
    const api = await target.isolatedAccount();
    const before = await api.get('/sandboxes?include_deleted=true');
    await api.post('/sandboxes', { size: 'huge' });
    expect((await api.get('/sandboxes?include_deleted=true')).body).toEqual(before.body);
  });
});
