import { describe, expect, it } from 'vitest';
import { type Answer, expectError, expectStatus } from '../../support/conformance/api.ts';
import type { SandboxBody } from '../../support/conformance/bodies.ts';
import { useSubject } from '../../support/conformance/subject.ts';

const subject = useSubject();
const minuteMs = 60_000;

const extend = (id: string, body?: unknown): Promise<Answer<SandboxBody>> =>
  subject.api.post<SandboxBody>(`/sandboxes/${id}/extend`, body);

const expiresAtMs = (sandbox: SandboxBody): number => Date.parse(sandbox.expires_at ?? '');

describe('POST /sandboxes/{id}/extend', () => {
  it('pushes the expiry out by additional_minutes, by 15 without a body, and stays running', async () => {
    const sandbox = await subject.api.create({ timeout_minutes: 10 });
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
    expect(expiresAtMs(await subject.api.sandbox(sandbox.id))).toBe(expiresMs);
    await subject.api.delete(`/sandboxes/${sandbox.id}`);
  });

  it('never beyond 1440 minutes after creation: what would pass the cap is cut', async () => {
    const sandbox = await subject.api.create({ timeout_minutes: 10 });
    const cap = Date.parse(sandbox.created_at) + 1440 * minuteMs;
    for (const additional_minutes of [1440, 1]) {
      const extended = expectStatus(await extend(sandbox.id, { additional_minutes }), 200);
      expect(extended.timeout_minutes).toBe(1440);
      expect(expiresAtMs(extended)).toBeLessThanOrEqual(cap);
      expect(expiresAtMs(extended)).toBeGreaterThan(cap - 2 * minuteMs);
    }
    await subject.api.delete(`/sandboxes/${sandbox.id}`);
  });

  it('extensions at the same moment all count', async () => {
    const sandbox = await subject.api.create({ timeout_minutes: 10 });
    const answers = await Promise.all(
      [1, 2, 3, 4].map((additional_minutes) => extend(sandbox.id, { additional_minutes })),
    );
    for (const answer of answers) expectStatus(answer, 200);
    expect(expiresAtMs(await subject.api.sandbox(sandbox.id))).toBe(expiresAtMs(sandbox) + 10 * minuteMs);
    await subject.api.delete(`/sandboxes/${sandbox.id}`);
  });

  it.each([0, 1441, -15, 1.5, '15', true, [15]])('additional_minutes %j: 400 invalid_request', async (minutes) => {
    const answer = await extend('sbx_unknown', { additional_minutes: minutes });
    expect(expectError(answer, 400, 'invalid_request')).toContain('additional_minutes');
  });

  it('404 for a sandbox that does not exist', async () => {
    expectError(await extend('sbx_unknown'), 404, 'not_found');
  });
});
