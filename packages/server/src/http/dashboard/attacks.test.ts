import { describe, expect, test } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import {
  addAccount,
  linkFor,
  password,
  type StubService,
  setFirstPassword,
  signedIn,
  TestBrowser,
} from '../../../test/http/browser.ts';
import {
  type DashboardRoute,
  dashboardRoutes,
  type OwnedIds,
  ownEverything,
  urlOf,
  validBodies,
} from '../../../test/http/dashboard-routes.ts';

const minuteMs = 60_000;
const needSession = dashboardRoutes.filter(({ signedOut }) => !signedOut);

/** Everything that an attack could have changed. */
async function stateOf({ store, clock }: StubService) {
  return {
    keys: await store.accounts.listKeys('acct_test'),
    sessions: (await store.signIns.listSessions('acct_test')).length,
    credentials: await store.signIns.credentials('acct_test'),
    sandboxes: await store.sandboxes.list('acct_test', { limit: 100, includeDeleted: true }),
    snapshots: await store.snapshots.all(),
    nowMs: clock.nowMs(),
  };
}

describe('a page of another site cannot use a session', () => {
  const foreign: Readonly<Record<string, Record<string, string | undefined>>> = {
    'with its own origin': { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    'in a browser that only sends the origin': { origin: 'https://evil.example', 'sec-fetch-site': undefined },
    'without an origin that it names': { origin: 'null', 'sec-fetch-site': undefined },
    'that is a preview of this service': { origin: 'https://token.localhost:8443', 'sec-fetch-site': 'same-site' },
    'on another port': { origin: 'http://localhost:3000', 'sec-fetch-site': 'same-site' },
    'by a form or a link': { origin: undefined, 'sec-fetch-site': 'cross-site' },
  };

  test.each(Object.entries(foreign))('%s, on any route', async (_, headers) => {
    await using service = await stubService();
    const browser = await signedIn(service);
    const ids = await ownEverything(service, browser);
    const before = await stateOf(service);
    for (const route of dashboardRoutes) {
      const url = urlOf(route, idFor(route, ids));
      const body = route.method === 'GET' ? undefined : (validBodies[route.id] ?? {});
      const answer = await browser.send(route.method, url, body, headers);
      expect([route.id, answer.status, answer.body.error?.type]).toEqual([route.id, 403, 'cross_origin_request']);
      expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
      expect(answer.headers).not.toHaveProperty('set-cookie');
    }
    expect(await stateOf(service)).toEqual(before);
  });

  test('without any origin, on any route that changes something', async () => {
    await using service = await stubService();
    const browser = await signedIn(service);
    const before = await stateOf(service);
    for (const route of dashboardRoutes.filter(({ method }) => method !== 'GET')) {
      const nothing = { origin: undefined, 'sec-fetch-site': undefined };
      const answer = await browser.send(route.method, urlOf(route), validBodies[route.id] ?? {}, nothing);
      expect([route.id, answer.status]).toEqual([route.id, 403]);
    }
    expect(await stateOf(service)).toEqual(before);
  });

  test('by asking for permission first', async () => {
    await using service = await stubService();
    const browser = await signedIn(service);
    const asked = { origin: 'https://evil.example', 'access-control-request-method': 'DELETE' };
    const answer = await browser.send('OPTIONS', '/app/api/session', undefined, asked);
    expect(answer.status).toBe(403);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});

describe('a session and a key are not interchangeable', () => {
  test('the cookie opens nothing of /v1', async () => {
    await using service = await stubService();
    const browser = await signedIn(service);
    for (const route of needSession) {
      const url = urlOf(route).replace('/app/api', '/v1');
      const answer = await browser.send(route.method, url, validBodies[route.id]);
      expect([route.id, answer.status, answer.body.error.type]).toEqual([route.id, 401, 'unauthorized']);
    }
  });

  test('a key opens nothing of /app/api, nor does a ticket', async () => {
    await using service = await stubService();
    const { ticket } = (await service.call('POST', '/v1/tickets')).body as unknown as { ticket: string };
    const stranger = new TestBrowser(service);
    const authorization = { authorization: `Bearer ${service.key}` };
    for (const route of needSession) {
      const answer = await stranger.send(route.method, urlOf(route), validBodies[route.id], authorization);
      expect([route.id, answer.status, answer.body.error.type]).toEqual([route.id, 401, 'unauthorized']);
    }
    expect((await stranger.get(`/executions/exec_1/stream?ticket=${ticket}`)).status).toBe(401);
  });

  test('a key beside a cookie is ignored', async () => {
    await using service = await stubService();
    const browser = await signedIn(service, await addAccount(service, 'b'));
    const both = { authorization: `Bearer ${service.key}` };
    const { body } = await browser.send('GET', '/app/api/account', undefined, both);
    expect(body).toMatchObject({ email: 'b@localhost' });
  });

  test('paths that no operation has need a session too', async () => {
    await using service = await stubService();
    expect((await new TestBrowser(service).get('/nothing')).status).toBe(401);
    expect((await (await signedIn(service)).get('/nothing')).status).toBe(404);
    expect((await (await signedIn(service)).post('/tickets')).status).toBe(404);
  });
});

test('an account reaches nothing of another one, by whatever id', async () => {
  await using service = await stubService();
  const owner = await signedIn(service);
  const ids = await ownEverything(service, owner);
  const intruder = await signedIn(service, await addAccount(service, 'intruder'), '192.0.2.66');
  const before = await stateOf(service);
  const withIds = dashboardRoutes.filter(({ path, id }) => path.includes('{id}') && id !== 'openTerminal');
  expect(withIds.length).toBeGreaterThan(20);
  for (const route of withIds) {
    const answer = await intruder.send(route.method, urlOf(route, idFor(route, ids)), validBodies[route.id]);
    expect([route.id, answer.status, answer.body.error?.type]).toEqual([route.id, 404, 'not_found']);
  }
  expect(await stateOf(service)).toEqual(before);
  for (const path of ['/sandboxes', '/snapshots']) expect((await intruder.get(path)).body).toMatchObject({ data: [] });
  expect((await owner.get('/sandboxes')).body).toMatchObject({ data: [{ id: ids.sandboxes }] });
});

describe('guessing', () => {
  const wrong = (service: StubService, email: string, address?: string) =>
    new TestBrowser(service, address).signIn(email, 'wrong password');

  test('is stopped after ten failures for an e-mail address, whether it exists or not, even with the right password', async () => {
    await using service = await stubService();
    await setFirstPassword(service);
    for (const email of ['a@localhost', 'nobody@localhost']) {
      const addressAt = (index: number) => `198.51.${email.length}.${index}`;
      const statuses = [];
      for (let index = 0; index < 12; index++) statuses.push((await wrong(service, email, addressAt(index))).status);
      expect(statuses).toEqual([...Array<number>(10).fill(401), 429, 429]);
    }
    const right = await new TestBrowser(service, '203.0.113.9').signIn('A@LOCALHOST');
    expect(right).toMatchObject({ status: 429, body: { error: { type: 'rate_limit_exceeded' } } });
    expect(Number(right.headers['retry-after'])).toBeGreaterThan(0);
    expect(Number(right.headers['retry-after'])).toBeLessThanOrEqual(15 * 60);
    const link = await new TestBrowser(service, '203.0.113.9').post('/session/link', { token: await linkFor(service) });
    expect(link.status).toBe(201);
    service.clock.advanceMs(15 * minuteMs);
    expect((await new TestBrowser(service, '203.0.113.9').signIn()).status).toBe(201);
  });

  test('is stopped after thirty failures from a source address or one IPv6 customer, with whatever e-mail addresses', async () => {
    await using service = await stubService();
    await setFirstPassword(service);
    for (const addressAt of [() => '192.0.2.1', (index: number) => `2001:db8:1:2::${index}`]) {
      const statuses = [];
      for (let index = 0; index < 31; index++) {
        statuses.push((await wrong(service, `${index}@localhost`, addressAt(index))).status);
      }
      expect(statuses).toEqual([...Array<number>(30).fill(401), 429]);
      expect((await new TestBrowser(service, addressAt(99)).signIn()).status).toBe(429);
    }
    expect((await new TestBrowser(service, '192.0.2.2').signIn()).status).toBe(201);
  });

  test('many at once is no way around it', async () => {
    await using service = await stubService();
    await setFirstPassword(service);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => wrong(service, 'a@localhost', `198.51.100.${index}`)),
    );
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(10);
  });

  test('links, the current password and codes is limited too', async () => {
    await using service = await stubService();
    const browser = await signedIn(service);
    const attempts: (() => Promise<{ status: number }>)[] = [
      () => browser.put('/password', { current_password: 'wrong', new_password: 'another good password' }),
      async () => {
        await browser.post('/two-factor');
        return await browser.post('/two-factor/confirm', { code: '000000' });
      },
    ];
    for (const attempt of attempts) {
      for (let index = 0; index < 10; index++) expect((await attempt()).status).toBe(401);
      expect((await attempt()).status).toBe(429);
      service.clock.advanceMs(15 * minuteMs);
    }
    const guessLink = () => new TestBrowser(service, '198.51.100.1').post('/session/link', { token: 'guess' });
    for (let index = 0; index < 30; index++) expect((await guessLink()).status).toBe(401);
    expect((await guessLink()).status).toBe(429);
  });

  test('sessions is limited by the window of all requests', async () => {
    await using service = await stubService();
    const browser = new TestBrowser(service);
    const statuses = new Set<number>();
    for (let index = 0; index < 1_201; index++) {
      browser.cookie = `mayfly_session=${index}`;
      statuses.add((await browser.get('/session')).status);
    }
    expect([...statuses]).toEqual([401, 429]);
  });
});

test('an account has a window of its own in the dashboard, over all of its sessions', async () => {
  await using service = await stubService();
  const [first, second] = [await signedIn(service), await signedIn(service, 'a@localhost', '192.0.2.2')];
  for (let index = 0; index < 300; index++) {
    expect((await first.get('/session')).status).toBe(200);
    expect((await second.get('/session')).status).toBe(200);
  }
  const refused = await second.get('/session');
  expect(refused).toMatchObject({ status: 429, body: { error: { type: 'rate_limit_exceeded' } } });
  expect(refused.headers).toHaveProperty('retry-after');
  expect((await service.call('GET', '/v1/account')).status).toBe(200);
  service.clock.advanceMs(minuteMs);
  expect((await first.get('/session')).status).toBe(200);
});

describe('a session that somebody else prepared', () => {
  test('is not the one that a sign-in begins', async () => {
    await using service = await stubService();
    const attacker = await signedIn(service, await addAccount(service, 'attacker'));
    await setFirstPassword(service);
    const victim = new TestBrowser(service);
    victim.cookie = attacker.cookie;
    await victim.signIn();
    expect(victim.cookie).not.toBe(attacker.cookie);
    expect((await victim.get('/session')).body).toMatchObject({ account: { email: 'a@localhost' } });
    expect((await attacker.get('/session')).status).toBe(401);
    victim.cookie = 'mayfly_session=chosen-by-the-attacker';
    await victim.signIn();
    expect(victim.cookie).not.toContain('chosen');
  });

  test('does not take the place of one, if a preview could plant its cookie', async () => {
    await using service = await stubService();
    const [attacker, victim] = [
      await signedIn(service, await addAccount(service, 'attacker')),
      await signedIn(service),
    ];
    const own = victim.cookie;
    for (const cookies of [`${attacker.cookie}; ${own}`, `${own}; ${attacker.cookie}`]) {
      victim.cookie = cookies;
      expect((await victim.get('/session')).status).toBe(401);
    }
    victim.cookie = `theme=dark; ${own}; other=1`;
    expect((await victim.get('/session')).status).toBe(200);
  });
});

test('the eleventh key is refused, also when several are created at once', async () => {
  await using service = await stubService();
  const browser = await signedIn(service);
  const made = await Promise.all(
    Array.from({ length: 15 }, (_, index) => browser.post('/keys', { name: `key ${index}` })),
  );
  expect(made.filter(({ status }) => status === 201)).toHaveLength(9);
  const refused = made.filter(({ status }) => status !== 201);
  expect(new Set(refused.map(({ status, body }) => `${status} ${body.error.type}`))).toEqual(
    new Set(['429 quota_exceeded']),
  );
  expect((await browser.get('/keys')).body).toMatchObject({ active: 10, limit: 10 });
  expect((await browser.delete('/keys/key_test')).status).toBe(200);
  expect((await browser.post('/keys', { name: 'again' })).status).toBe(201);
});

test('a hostile name, address or browser is only ever JSON', async () => {
  await using service = await stubService();
  const hostile = '"><script>alert(1)</script>';
  const email = '"><img/src=x>@localhost';
  await service.store.accounts.create({ id: 'acct_x', email, openingCreditMicroUsd: 0, createdAtMs: 1, key: null });
  const browser = await signedIn(service, email);
  await browser.send('POST', '/app/api/session', { email, password }, { 'user-agent': hostile });
  await browser.post('/keys', { name: hostile });
  for (const path of ['/session', '/sessions', '/keys', `/sandboxes/${encodeURIComponent(hostile)}`]) {
    const { headers, text } = await browser.get(path);
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-origin',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
    });
    expect(() => JSON.parse(text)).not.toThrow();
  }
  expect((await browser.get('/keys')).body).toMatchObject({ data: [{ name: hostile }] });
  expect((await browser.get('/sessions')).body).toMatchObject({ data: [{ user_agent: hostile }] });
});

test('bodies of strangers are small JSON objects', async () => {
  await using service = await stubService();
  const browser = new TestBrowser(service);
  expect((await browser.signIn('a@localhost', 'x'.repeat(20_000))).status).toBe(413);
  expect((await browser.post('/session', '{')).status).toBe(400);
  expect((await browser.post('/session', '[]')).status).toBe(400);
  expect((await browser.post('/session')).body.error.message).toBe('the body must be a JSON object');
  expect((await browser.post('/session', { email: { $ne: null }, password: true })).status).toBe(400);
  expect((await browser.send('GET', '/app/api/%ff')).headers).not.toHaveProperty('access-control-allow-origin');
});

test('what a person does is in the audit trail, and nothing secret', async () => {
  await using service = await stubService();
  await setFirstPassword(service);
  const browser = new TestBrowser(service);
  /** Events of one millisecond have no order. */
  const next = () => service.clock.advanceMs(1);
  await browser.signIn('a@localhost', 'wrong password').finally(next);
  await browser.signIn('nobody@localhost').finally(next);
  await browser.signIn().finally(next);
  const { body } = await browser.post('/keys', { name: 'ci' }).finally(next);
  const { id, key } = body as unknown as { id: string; key: string };
  await browser.get('/keys');
  await browser.delete(`/keys/${id}`).finally(next);
  await browser.put('/password', { current_password: password, new_password: 'another good password' }).finally(next);
  await browser.post('/two-factor');
  await service.core.audit.flush();
  const events = (await service.store.audit.list({ limit: 100 })).toReversed();
  const [session] = await service.store.signIns.listSessions('acct_test');
  const actor = { kind: 'session', sessionId: session?.id, sourceAddress: '192.0.2.1' };
  const done = (action: string, status: number, target: string | null = null) => ({
    actor,
    action,
    target,
    accountId: 'acct_test',
    result: { status, errorType: null },
  });
  expect(events).toMatchObject([
    {
      actor: { ...actor, sessionId: null },
      action: 'signIn',
      accountId: 'acct_test',
      result: { status: 401, errorType: 'wrong_credentials' },
    },
    done('signIn', 201, session?.id),
    done('createApiKey', 201, id),
    done('revokeApiKey', 200, id),
    done('setPassword', 200),
    done('startTwoFactor', 200),
  ]);
  for (const secret of [key, password, 'another good password', browser.cookie ?? '']) {
    expect(JSON.stringify(events)).not.toContain(secret);
  }
});

/** The id that a route is asked for. */
function idFor({ path }: DashboardRoute, ids: OwnedIds): string {
  const [, kind = ''] = path.split('/');
  return ids[kind as keyof OwnedIds] ?? 'unknown';
}
