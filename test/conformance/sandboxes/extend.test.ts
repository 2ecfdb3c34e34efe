import type { Sandbox } from '@mayfly/contract';
import { describe, expect, it } from 'vitest';
import { type ApiResponse, expectError, expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget();
const minuteMs = 60_000;

function extend(id: string, body?: unknown): Promise<ApiResponse<Sandbox>> {
  return target.api.post<Sandbox>(`/sandboxes/${id}/extend`, body);
}

function expiresAtMs(sandbox: Sandbox): number {
  return Date.parse(sandbox.expires_at ?? '');
}

describe('POST /sandboxes/{id}/extend', () => {
  it('extends the expiry by additional_minutes, by 15 without a body; the sandbox stays running', async () => {
    const sandbox = await target.api.create({ timeout_minutes: 10 });
    let expiresMs = expiresAtMs(sandbox);
    let minutes = 10;
    const bodies = [
      undefined,
      {},
      { additional_minutes: null },
      { additional_minutes: 1 },
      { additional_minutes: 100 },
    ];
    for (const [body, added] of bodies.map((one, at) => [one, [15, 15, 15, 1, 100][at] ?? 0] as const)) {
      const extended = expectStatus(await extend(sandbox.id, body), 200);
      expiresMs += added * minuteMs;
      minutes += added;
      expect(extended).toMatchObject({ id: sandbox.id, status: 'running', timeout_minutes: minutes });
      expect(expiresAtMs(extended)).toBe(expiresMs);
    }
    expect(expiresAtMs(await target.api.sandbox(sandbox.id))).toBe(expiresMs);
    await target.api.delete(`/sandboxes/${sandbox.id}`);
  });

  it('never beyond 1440 minutes after creation: an extension past the cap is cut to it', async () => {
    const sandbox = await target.api.create({ timeout_minutes: 10 });
    const cap = Date.parse(sandbox.created_at) + 1440 * minuteMs;
    for (const additional_minutes of [1440, 1]) {
      const extended = expectStatus(await extend(sandbox.id, { additional_minutes }), 200);
      expect(extended.timeout_minutes).toBe(1440);
      expect(expiresAtMs(extended)).toBeLessThanOrEqual(cap);
      expect(expiresAtMs(extended)).toBeGreaterThan(cap - 2 * minuteMs);
    }
    await target.api.delete(`/sandboxes/${sandbox.id}`);
  });

  it('concurrent extensions all count', async () => {
    const sandbox = await target.api.create({ timeout_minutes: 10 });
    const responses = await Promise.all(
      [1, 2, 3, 4].map((additional_minutes) => extend(sandbox.id, { additional_minutes })),
    );
    for (const response of responses) expectStatus(response, 200);
    expect(expiresAtMs(await target.api.sandbox(sandbox.id))).toBe(expiresAtMs(sandbox) + 10 * minuteMs);
    await target.api.delete(`/sandboxes/${sandbox.id}`);
  });

  it.each([0, 1441, -15, 1.5, '15', true, [15]])('additional_minutes %j: 400 invalid_request', async (minutes) => {
    const response = await extend('sbx_unknown', { additional_minutes: minutes });
    expect(expectError(response, 400, 'invalid_request')).toContain('additional_minutes');
  });

  it('404 for a sandbox that does not exist', async () => {
    expectError(await extend('sbx_unknown'), 404, 'not_found');
  });
});
