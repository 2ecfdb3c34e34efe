import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';
import { length } from '../../support/length.ts';

const target = useTarget({ sandbox: true });
/** Longer than the usual idle timeout of servers and proxies (60 s); at full length the longest possible command. */
const longSeconds = length(65, 595);
const minuteMs = 60_000;

// These tests mostly wait, so they run concurrently.
describe.concurrent('timeouts and expiry', () => {
  it(`a command of ${longSeconds} s returns when it ends`, { timeout: 700_000 }, async () => {
    const { api, sandbox } = target;
    const command = `echo first; sleep ${longSeconds}; echo last`;
    const execution = await api.exec(sandbox.id, command, { timeout_ms: 600_000 }, { deadlineMs: 660_000 });
    expect(execution).toMatchObject({ status: 'completed', exit_code: 0, stdout: 'first\nlast\n' });
    expect(execution.duration_ms).toBeGreaterThanOrEqual(longSeconds * 1000);
    expect(expectStatus(await api.get(`/executions/${execution.id}`), 200)).toEqual(execution);
  });

  it('timeout_ms defaults to 60000', async () => {
    const execution = await target.api.exec(target.sandbox.id, 'echo early; sleep 900', {}, { deadlineMs: 300_000 });
    expect(execution).toMatchObject({ status: 'timeout', exit_code: 124, stdout: 'early\n' });
    expect(execution.duration_ms).toBeGreaterThanOrEqual(60_000);
    expect(execution.duration_ms).toBeLessThan(300_000);
  });

  it('a sandbox past expires_at is destroyed by the sweeper; its command answers 502, later requests 404', async () => {
    const { api } = target;
    const { id, expires_at } = await api.create({ timeout_minutes: 1 });
    const running = api.post(
      `/sandboxes/${id}/exec`,
      { command: 'sleep 500', timeout_ms: 600_000 },
      { deadlineMs: 300_000 },
    );
    expect(Date.parse(expires_at ?? '')).toBeGreaterThan(Date.now() + minuteMs / 2);
    const expired = await vi.waitFor(
      async () => {
        const sandbox = await api.sandbox(id);
        expect(sandbox.status).toBe('deleted');
        return sandbox;
      },
      { timeout: 7 * minuteMs, interval: 5000 },
    );
    const deletedAtMs = Date.parse(expired.deleted_at ?? '');
    expect(deletedAtMs).toBeGreaterThanOrEqual(Date.parse(expires_at ?? ''));
    expect(deletedAtMs).toBeLessThan(Date.parse(expires_at ?? '') + 3 * minuteMs);
    expect((await running).status).toBe(502);
    expect((await api.post(`/sandboxes/${id}/exec`, { command: 'true' })).status).toBe(404);
    expect((await api.delete(`/sandboxes/${id}`)).status).toBe(404);
  });

  it('an upload over a slow line takes two minutes and succeeds', async () => {
    const { api, sandbox } = target;
    const line = 'x'.repeat(1_024);
    const slowly = async function* () {
      yield '{"path":"slow","content":"';
      for (let second = 0; second < 120; second++) {
        await sleep(1_000);
        yield line;
      }
      yield '"}';
    };
    const response = await fetch(`${api.baseUrl}/sandboxes/${sandbox.id}/files`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${api.key}` },
      body: Readable.toWeb(Readable.from(slowly())) as ReadableStream,
      duplex: 'half',
    });
    expect([response.status, await response.json()]).toMatchObject([201, { bytes: 120 * 1_024 }]);
  });

  it('an extended sandbox outlives its first expiry', async () => {
    const { api } = target;
    const { id, expires_at } = await api.create({ timeout_minutes: 1 });
    expectStatus(await api.post(`/sandboxes/${id}/extend`, { additional_minutes: 5 }), 200);
    await sleep(Date.parse(expires_at ?? '') + 1.1 * minuteMs - Date.now());
    expect(await api.output(id, 'echo alive')).toBe('alive');
    await api.delete(`/sandboxes/${id}`);
  });
});
