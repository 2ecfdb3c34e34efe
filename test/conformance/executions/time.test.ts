import { describe, expect, it } from 'vitest';
import { expectStatus } from '../../support/conformance/api.ts';
import { eventually } from '../../support/conformance/eventually.ts';
import { useSubject } from '../../support/conformance/subject.ts';

const subject = useSubject({ sandbox: true });
/** Past the minute after which servers and proxies like to hang up; the longest there is when there is time for it. */
const longSeconds = process.env.MAYFLY_TEST_LONG ? 595 : 65;
const minuteMs = 60_000;

// Nothing but waiting: all at once.
describe.concurrent('what takes its time', () => {
  it(`a command of ${longSeconds} s is answered when it ends`, { timeout: 700_000 }, async () => {
    const { api, sandbox } = subject;
    const command = `echo first; sleep ${longSeconds}; echo last`;
    const execution = await api.exec(sandbox.id, command, { timeout_ms: 600_000 }, { deadlineMs: 660_000 });
    expect(execution).toMatchObject({ status: 'completed', exit_code: 0, stdout: 'first\nlast\n' });
    expect(execution.duration_ms).toBeGreaterThanOrEqual(longSeconds * 1000);
    expect(expectStatus(await api.get(`/executions/${execution.id}`), 200)).toEqual(execution);
  });

  it('timeout_ms is 60000 unless told', { timeout: 180_000 }, async () => {
    const execution = await subject.api.exec(subject.sandbox.id, 'echo early; sleep 100');
    expect(execution).toMatchObject({ status: 'timeout', exit_code: 124, stdout: 'early\n' });
    expect(execution.duration_ms).toBeGreaterThanOrEqual(60_000);
    expect(execution.duration_ms).toBeLessThan(90_000);
  });

  it('the sweeper runs every minute and destroys what is past expires_at', { timeout: 300_000 }, async () => {
    const { api } = subject;
    const { id, expires_at } = await api.create({ timeout_minutes: 1 });
    const running = api.post(
      `/sandboxes/${id}/exec`,
      { command: 'sleep 500', timeout_ms: 600_000 },
      { deadlineMs: 300_000 },
    );
    expect(Date.parse(expires_at ?? '')).toBeGreaterThan(Date.now() + minuteMs / 2);
    const expired = await eventually(
      async () => {
        const sandbox = await api.sandbox(id);
        expect(sandbox.status).toBe('deleted');
        return sandbox;
      },
      4 * minuteMs,
      5000,
    );
    const deletedAtMs = Date.parse(expired.deleted_at ?? '');
    expect(deletedAtMs).toBeGreaterThanOrEqual(Date.parse(expires_at ?? ''));
    expect(deletedAtMs).toBeLessThan(Date.parse(expires_at ?? '') + 1.5 * minuteMs);
    expect((await running).status).toBe(502);
    expect((await api.post(`/sandboxes/${id}/exec`, { command: 'true' })).status).toBe(404);
    expect((await api.delete(`/sandboxes/${id}`)).status).toBe(404);
  });

  it('an extended sandbox outlives its first expiry', { timeout: 300_000 }, async () => {
    const { api } = subject;
    const { id, expires_at } = await api.create({ timeout_minutes: 1 });
    expectStatus(await api.post(`/sandboxes/${id}/extend`, { additional_minutes: 5 }), 200);
    const past = Date.parse(expires_at ?? '') + 1.1 * minuteMs;
    await eventually(async () => expect(Date.now()).toBeGreaterThan(past), 4 * minuteMs, 5000);
    expect(await api.output(id, 'echo alive')).toBe('alive');
    await api.delete(`/sandboxes/${id}`);
  });
});
