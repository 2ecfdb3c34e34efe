import { expect, test } from 'vitest';
import type { AuditEvent } from '../../../src/core/ports/store/audit-store.ts';
import { account, type OpenedStore } from '../fixtures.ts';

const event = (id: string, more: Partial<AuditEvent> = {}): AuditEvent => ({
  id,
  atMs: 1_790_000_000_000,
  actor: { kind: 'api_key', keyId: 'key_1', sourceAddress: '2001:db8::1' },
  accountId: account.id,
  action: 'createSandbox',
  target: 'sbx_a',
  details: null,
  requestId: 'req_1',
  result: { status: 201, errorType: null },
  ...more,
});
const operator = { kind: 'operator', name: 'ada' } as const;

export function describeAudit(opened: OpenedStore): void {
  test('events are listed as they were appended, newest first, and writing one again changes nothing', async () => {
    const { audit } = opened();
    const refused = event('aud_2', { atMs: 1_790_000_000_005, result: { status: 429, errorType: 'quota_exceeded' } });
    await audit.append([]);
    await audit.append([event('aud_1'), refused]);
    await audit.append([event('aud_1', { target: 'sbx_b' })]);
    expect(await audit.list({ limit: 10 })).toEqual([refused, event('aud_1')]);
  });

  test('an event says who acted: a key, a session, nobody who was signed in, or an operator', async () => {
    const { audit } = opened();
    const sourceAddress = '192.0.2.1';
    const events = [
      event('aud_4', { actor: { kind: 'session', sessionId: 'ses_1', sourceAddress } }),
      event('aud_3', { actor: { kind: 'session', sessionId: null, sourceAddress } }),
      event('aud_2', { actor: operator }),
      event('aud_1', { actor: { kind: 'api_key', keyId: 'key_1', sourceAddress } }),
    ];
    await audit.append(events);
    expect(await audit.list({ limit: 10 })).toEqual(events);
  });

  test('the result of a command is recorded afterwards', async () => {
    const { audit } = opened();
    const started = event('aud_1', { actor: operator, details: '{"usd":5}', requestId: null, result: null });
    await audit.append([started]);
    expect(await audit.list({ limit: 10 })).toEqual([started]);
    const result = { status: 409, errorType: 'email_taken' };
    await audit.finish('aud_1', result);
    expect(await audit.list({ limit: 10 })).toEqual([{ ...started, result }]);
  });

  test('events can be selected, and old ones are removed in batches', async () => {
    const { audit, retention } = opened();
    const idsOf = async (filter: object) => (await audit.list({ limit: 10, ...filter })).map(({ id }) => id);
    await audit.append([
      event('aud_1', { atMs: 1, accountId: null, target: 'a@localhost' }),
      event('aud_2', { atMs: 2 }),
      event('aud_3', { atMs: 3, accountId: 'acct_2' }),
    ]);
    expect(await idsOf({ account: { id: account.id, email: 'a@localhost' } })).toEqual(['aud_2', 'aud_1']);
    expect(await idsOf({ target: 'sbx_a' })).toEqual(['aud_3', 'aud_2']);
    expect(await idsOf({ sinceMs: 2 })).toEqual(['aud_3', 'aud_2']);
    expect(await idsOf({ limit: 1 })).toEqual(['aud_3']);
    expect(await retention.removeAuditEvents(3, 1)).toBe(1);
    expect(await retention.removeAuditEvents(3, 10)).toBe(1);
    expect(await idsOf({})).toEqual(['aud_3']);
  });

  test('a full batch is written by one statement', async () => {
    const batch = Array.from({ length: 500 }, (_, index) => event(`aud_${index}`));
    await opened().audit.append(batch);
    expect(await opened().audit.list({ limit: 1_000 })).toHaveLength(500);
  });
}
