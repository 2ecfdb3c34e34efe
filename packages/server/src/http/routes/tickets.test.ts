import { fixedLimits, type Ticket } from '@mayfly/contract';
import { type ReceivedEvent, readEvents } from '@mayfly/contract/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import { hashApiKey } from '../../core/accounts/api-keys.ts';

let service: Awaited<ReturnType<typeof stubService>>;
let url: string;
let sandboxId: string;
let statsPath: string;
beforeEach(async () => {
  service = await stubService({}, { MAYFLY_LOG_LEVEL: 'trace' });
  url = await service.app.listen({ port: 0, host: '127.0.0.1' });
  sandboxId = (await service.call('POST', '/v1/sandboxes')).body.id;
  statsPath = `/v1/sandboxes/${sandboxId}/stats/stream`;
});
afterEach(async () => {
  service.core.streams.cutAll();
  service.app.server.closeAllConnections();
  await service[Symbol.asyncDispose]();
});

const create = (headers: Record<string, string> = {}) => service.call('POST', '/v1/tickets', undefined, headers);
const newTicket = async (headers?: Record<string, string>) =>
  ((await create(headers)).body as unknown as Ticket).ticket;

/** Opens a path as a browser does: without a key. */
const open = (path: string, ticket: string, headers: Record<string, string> = {}) =>
  fetch(`${url}${path}?ticket=${ticket}`, { headers });

async function firstEvent(response: Response): Promise<ReceivedEvent> {
  expect(response.status).toBe(200);
  for await (const event of readEvents(response)) return event;
  throw new Error('the stream ended without an event');
}

async function refusal(response: Response): Promise<readonly [number, string, string]> {
  const { error } = (await response.json()) as { error: { type: string; message: string } };
  return [response.status, error.type, error.message];
}

const invalidTicket = [
  401,
  'invalid_api_key',
  'This ticket is unknown, has expired or was used already. Get another one with POST /v1/tickets.',
] as const;

test('a ticket is created by a key, lives for a minute and must not be cached', async () => {
  const { status, body, headers } = await create();
  expect([status, headers['cache-control']]).toEqual([201, 'no-store']);
  expect(body).toEqual({
    object: 'ticket',
    ticket: expect.stringMatching(/^tkt_[\w-]{43}$/),
    expires_at: new Date(service.clock.nowMs() + 60_000).toISOString(),
  });
  expect((await create({ authorization: '' })).body.error.type).toBe('unauthorized');
});

describe('a ticket in place of the key', () => {
  test('opens the stats of a sandbox, once', async () => {
    const ticket = await newTicket();
    const response = await open(statsPath, ticket, { origin: 'https://a.example' });
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    // Of the account, not of the source address.
    expect(response.headers.get('ratelimit-limit')).toBe('120');
    expect(await firstEvent(response)).toMatchObject({ event: 'stats', data: { sandbox_id: sandboxId } });
    expect(await refusal(await open(statsPath, ticket))).toEqual(invalidTicket);
  });

  test('opens the output of an execution, and is logged as its key', async () => {
    const { id } = (await service.call('POST', `/v1/sandboxes/${sandboxId}/exec`, { command: 'ls' })).body;
    const headers = { 'x-request-id': 'by-ticket' };
    const response = await open(`/v1/executions/${id}/stream`, await newTicket(), headers);
    const events: string[] = [];
    for await (const { event } of readEvents(response)) events.push(event);
    expect([events[0], events.at(-1)]).toEqual(['start', 'exit']);
    const lineOf = () => service.logged.find(({ request_id }) => request_id === 'by-ticket');
    await expect.poll(lineOf).toMatchObject({ account_id: 'acct_test', key_id: 'key_test', status: 200 });
  });

  test('is used up by a request that fails', async () => {
    const ticket = await newTicket();
    const [status, type] = await refusal(await open('/v1/executions/exec_unknown/stream', ticket));
    expect([status, type]).toEqual([404, 'not_found']);
    expect(await refusal(await open(statsPath, ticket))).toEqual(invalidTicket);
  });

  test('expires', async () => {
    const ticket = await newTicket();
    service.clock.advanceMs(60_000);
    expect(await refusal(await open(statsPath, ticket))).toEqual(invalidTicket);
  });

  test.each(['', 'tkt_unknown', 'mf_test_key', 'a&ticket=b', '&ticket', '%00', '%zz'])(
    'cannot be %j',
    async (given) => {
      expect(await refusal(await open(statsPath, given))).toEqual(invalidTicket);
    },
  );

  test('cannot be one of several', async () => {
    const ticket = await newTicket();
    expect(await refusal(await open(statsPath, `${ticket}&ticket=${ticket}`))).toEqual(invalidTicket);
    const withKey = await service.call('GET', `${statsPath}?ticket=${ticket}&ticket=${ticket}`);
    expect([withKey.status, withKey.body.error.message]).toEqual([400, 'ticket must be given once']);
    expect(await firstEvent(await open(statsPath, ticket))).toMatchObject({ event: 'stats' });
  });

  test('sees nothing of another account', async () => {
    await service.core.store.accounts.create({
      id: 'acct_other',
      email: 'b@localhost',
      openingCreditMicroUsd: 0,
      createdAtMs: 0,
      key: { id: 'key_other', hash: hashApiKey('mf_other'), prefix: 'mf_' },
    });
    const { id } = (await service.call('POST', `/v1/sandboxes/${sandboxId}/exec`, { command: 'ls' })).body;
    for (const path of [`/v1/executions/${id}/stream`, statsPath]) {
      const [status, type] = await refusal(await open(path, await newTicket({ authorization: 'Bearer mf_other' })));
      expect([status, type]).toEqual([404, 'not_found']);
    }
  });

  test('is worth nothing once its key is revoked or the account is suspended', async () => {
    const [first, second] = [await newTicket(), await newTicket()];
    await service.core.store.accounts.setSuspended('acct_test', true);
    expect((await refusal(await open(statsPath, first))).slice(0, 2)).toEqual([403, 'account_suspended']);
    await service.core.store.accounts.setSuspended('acct_test', false);
    await service.core.store.accounts.revokeKey('acct_test', 'key_test', service.clock.nowMs());
    const revoked = [401, 'invalid_api_key', 'This API key has been revoked.'];
    expect(await refusal(await open(statsPath, second))).toEqual(revoked);
  });

  test('counts in both windows, and guesses count in the window of the source address', async () => {
    await service.core.store.accounts.setLimits('acct_test', { requestsPerMinute: 3 });
    const ticket = await newTicket();
    const guess = await open(statsPath, 'tkt_guess');
    expect([guess.headers.get('ratelimit-limit'), guess.headers.get('ratelimit-remaining')]).toEqual(['300', '297']);
    const opened = await open(statsPath, ticket);
    expect([opened.status, opened.headers.get('ratelimit-remaining')]).toEqual([200, '0']);
    await opened.body?.cancel();
  });
});

describe('a ticket is left unused by', () => {
  test('a request with a key', async () => {
    const ticket = await newTicket();
    const withKey = await open(statsPath, ticket, { authorization: `Bearer ${service.key}` });
    expect(await firstEvent(withKey)).toMatchObject({ event: 'stats' });
    const [, type] = await refusal(await open(statsPath, ticket, { authorization: 'Bearer mf_unknown' }));
    expect(type).toBe('invalid_api_key');
    expect(await firstEvent(await open(statsPath, ticket))).toMatchObject({ event: 'stats' });
  });

  test.each([
    ['GET', '/v1/account'],
    ['GET', '/v1/no/such/path'],
    ['POST', '/v1/tickets'],
    ['POST', '/v1/executions/exec_any/kill'],
    ['GET', '/v1/%zz'],
  ])('%s %s, which does not accept it', async (method, path) => {
    const ticket = await newTicket();
    const [status, type] = await refusal(await fetch(`${url}${path}?ticket=${ticket}`, { method }));
    expect([status, type]).toEqual([401, 'unauthorized']);
    expect(await firstEvent(await open(statsPath, ticket))).toMatchObject({ event: 'stats' });
  });

  test('a preflight', async () => {
    const ticket = await newTicket();
    const headers = { origin: 'https://a.example', 'access-control-request-method': 'GET' };
    const preflight = await fetch(`${url}${statsPath}?ticket=${ticket}`, { method: 'OPTIONS', headers });
    expect(preflight.status).toBe(204);
    expect(await firstEvent(await open(statsPath, ticket))).toMatchObject({ event: 'stats' });
  });
});

test('an account has a limited number of unused tickets', async () => {
  for (let count = 0; count < fixedLimits.ticketsPerAccount; count++) expect((await create()).status).toBe(201);
  const refused = await create();
  expect([refused.status, refused.body.error.type]).toEqual([429, 'rate_limit_exceeded']);
  expect(refused.body.error.message).toContain('100 of this account are unused');
});

test('no ticket and no key is in the log or in the audit trail', async () => {
  const ticket = await newTicket();
  await firstEvent(await open(statsPath, ticket));
  await open(statsPath, ticket);
  await open('/v1/account', ticket);
  await open('/v1/%zz', ticket);
  service.core.store.sandboxes.find = () => Promise.reject(new Error('disk I/O error'));
  expect((await open(statsPath, await newTicket())).status).toBe(500);
  await expect.poll(() => service.logged.filter(({ status }) => status === 500)).toHaveLength(1);
  await service.core.audit.flush();
  const noted = await service.store.audit.list({ limit: 100 });
  expect(noted.map(({ action }) => action)).toContain('createTicket');
  for (const text of [JSON.stringify(service.logged), JSON.stringify(noted)]) expect(text).not.toMatch(/tkt_|mf_/);
});
