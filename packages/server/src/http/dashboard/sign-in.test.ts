import { Secret, TOTP } from 'otpauth';
import { describe, expect, test } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import { linkFor, password, setFirstPassword, signedIn, TestBrowser } from '../../../test/http/browser.ts';
import { resetSignIn } from '../../core/sign-in/links.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

describe('a session', () => {
  test('begins with the right password, is shown, listed, and ends with the sign-out', async () => {
    await using service = await stubService();
    const browser = await signedIn(service);
    const nowMs = service.clock.nowMs();
    const session = await browser.get('/session');
    expect(session.body).toEqual({
      object: 'session',
      account: { id: 'acct_test', email: 'a@localhost' },
      created_at: new Date(nowMs).toISOString(),
      expires_at: new Date(nowMs + 7 * dayMs).toISOString(),
      has_password: true,
      two_factor: false,
      may_set_password: false,
    });
    expect((await browser.get('/sessions')).body).toMatchObject({
      object: 'list',
      data: [{ object: 'session_summary', current: true, source_address: '192.0.2.1', user_agent: 'Test browser' }],
    });
    const { cookie } = browser;
    expect(await browser.delete('/session')).toMatchObject({ status: 200, body: { object: 'session', deleted: true } });
    expect(browser.cookie).toBeUndefined();
    browser.cookie = cookie;
    expect(await browser.get('/session')).toMatchObject({ status: 401, body: { error: { type: 'unauthorized' } } });
  });

  test('has a cookie that scripts, other sites and other paths cannot have', async () => {
    await using service = await stubService();
    await setFirstPassword(service);
    const { headers } = await new TestBrowser(service).signIn();
    expect(headers['set-cookie']).toMatch(
      /^mayfly_session=[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Strict$/,
    );
    await using secure = await stubService(undefined, { MAYFLY_PUBLIC_URL: 'https://mayfly.example.com' });
    await setFirstPassword(secure);
    const browser = new TestBrowser(secure);
    const from = { host: 'mayfly.example.com', origin: 'https://mayfly.example.com' };
    const answer = await browser.send('POST', '/app/api/session', { email: 'a@localhost', password }, from);
    expect(answer.headers['set-cookie']).toMatch(/^__Host-mayfly_session=[\w-]{43}; Path=\/; .*; Secure$/);
    expect((await browser.send('GET', '/app/api/session', undefined, from)).status).toBe(200);
    browser.cookie = browser.cookie?.replace('__Host-', '');
    expect((await browser.send('GET', '/app/api/session', undefined, from)).status).toBe(401);
  });

  test('is stored as a hash', async () => {
    await using service = await stubService();
    const browser = await signedIn(service);
    const token = browser.cookie?.split('=')[1] ?? '';
    expect(await service.store.signIns.findSession(token)).toBeUndefined();
    const [session] = await service.store.signIns.listSessions('acct_test');
    expect(JSON.stringify(session)).not.toContain(token);
  });

  test('lives for seven days without use, thirty with it, and its use is recorded every five minutes', async () => {
    await using service = await stubService();
    const browser = await signedIn(service);
    const lastUsed = async () => (await service.store.signIns.listSessions('acct_test'))[0]?.lastUsedAtMs;
    const startMs = service.clock.nowMs();
    service.clock.advanceMs(5 * minuteMs - 1);
    await browser.get('/session');
    expect(await lastUsed()).toBe(startMs);
    service.clock.advanceMs(1);
    await browser.get('/session');
    expect(await lastUsed()).toBe(startMs + 5 * minuteMs);
    service.clock.advanceMs(7 * dayMs - 1);
    expect((await browser.get('/session')).status).toBe(200);
    service.clock.advanceMs(7 * dayMs);
    expect((await browser.get('/session')).status).toBe(401);
    expect((await browser.get('/sandboxes')).status).toBe(401);

    const daily = await signedIn(service);
    for (let day = 0; day < 29; day++) {
      service.clock.advanceMs(dayMs);
      expect((await daily.get('/session')).status).toBe(200);
    }
    service.clock.advanceMs(dayMs);
    expect((await daily.get('/session')).status).toBe(401);
  });

  test('can be ended from another one, by itself or with all others', async () => {
    await using service = await stubService();
    const [first, second, third] = [await signedIn(service), await signedIn(service), await signedIn(service)];
    const idOf = async (browser: TestBrowser) => {
      const { data } = (await browser.get('/sessions')).body as unknown as { data: { id: string; current: boolean }[] };
      return data.find(({ current }) => current)?.id ?? '';
    };
    expect((await first.delete(`/sessions/${await idOf(second)}`)).body).toEqual({
      object: 'deleted_sessions',
      deleted: 1,
    });
    expect((await second.get('/session')).status).toBe(401);
    expect((await first.delete(`/sessions/ses_unknown`)).status).toBe(404);
    expect((await first.delete('/sessions')).body).toEqual({ object: 'deleted_sessions', deleted: 1 });
    expect((await third.get('/session')).status).toBe(401);
    expect((await first.delete(`/sessions/${await idOf(first)}`)).status).toBe(200);
    expect(first.cookie).toBeUndefined();
  });

  test('ends when the browser signs in again', async () => {
    await using service = await stubService();
    const browser = await signedIn(service);
    const before = browser.cookie;
    await browser.signIn();
    expect(browser.cookie).not.toBe(before);
    expect(await service.store.signIns.listSessions('acct_test')).toHaveLength(1);
  });

  test('of a suspended account is refused until the account is resumed', async () => {
    await using service = await stubService();
    const browser = await signedIn(service);
    await service.core.store.accounts.setSuspended('acct_test', true);
    for (const answer of [await browser.get('/session'), await browser.get('/sandboxes'), await browser.signIn()]) {
      expect(answer).toMatchObject({ status: 403, body: { error: { type: 'account_suspended' } } });
    }
    await service.core.store.accounts.setSuspended('acct_test', false);
    expect((await browser.get('/session')).status).toBe(200);
  });
});

describe('a password', () => {
  test('that is wrong, of an account without one, or of no account is refused in the same words', async () => {
    await using service = await stubService();
    await setFirstPassword(service);
    await service.store.accounts.create({
      id: 'acct_2',
      email: 'b@localhost',
      openingCreditMicroUsd: 0,
      createdAtMs: 1,
      key: null,
    });
    const browser = new TestBrowser(service);
    const answers = [
      await browser.signIn('a@localhost', 'wrong'),
      await browser.signIn('b@localhost', password),
      await browser.signIn('nobody@localhost', password),
    ];
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.error.type} ${body.error.message}`)).size).toBe(
      1,
    );
    expect(answers[0]).toMatchObject({ status: 401, body: { error: { type: 'wrong_credentials' } } });
    expect((await browser.signIn('A@LocalHost')).status).toBe(201);
  });

  test('is changed with the current one, which ends all other sessions', async () => {
    await using service = await stubService();
    const [browser, other] = [await signedIn(service), await signedIn(service)];
    const change = (body: object) => browser.put('/password', body);
    const wanted = 'another good password';
    expect(await change({ new_password: wanted })).toMatchObject({
      status: 400,
      body: { error: { type: 'invalid_request' } },
    });
    expect(await change({ current_password: 'wrong', new_password: wanted })).toMatchObject({
      status: 401,
      body: { error: { type: 'wrong_credentials' } },
    });
    expect((await change({ current_password: password, new_password: 'short' })).status).toBe(400);
    expect((await other.get('/session')).status).toBe(200);
    expect((await change({ current_password: password, new_password: wanted })).body).toMatchObject({
      object: 'session',
      has_password: true,
    });
    expect((await other.get('/session')).status).toBe(401);
    expect((await browser.get('/session')).status).toBe(200);
    expect((await other.signIn()).status).toBe(401);
    expect((await other.signIn('a@localhost', wanted)).status).toBe(201);
  });

  test('may not be the e-mail address', async () => {
    await using service = await stubService();
    await service.store.accounts.create({
      id: 'acct_2',
      email: 'long.address@localhost',
      openingCreditMicroUsd: 0,
      createdAtMs: 1,
      key: null,
    });
    const browser = await signedIn(service, 'long.address@localhost');
    const body = { current_password: password, new_password: ' Long.Address@localhost' };
    expect((await browser.put('/password', body)).body.error.message).toBe(
      'new_password must not be the e-mail address',
    );
  });
});

describe('a sign-in link', () => {
  test('signs in once, and a password can be set with it for a quarter of an hour', async () => {
    await using service = await stubService();
    const token = await linkFor(service);
    const browser = new TestBrowser(service);
    expect(await browser.post('/session/link', { token })).toMatchObject({
      status: 201,
      body: { object: 'session', has_password: false, may_set_password: true },
    });
    const again = await new TestBrowser(service).post('/session/link', { token });
    expect(again).toMatchObject({ status: 401, body: { error: { type: 'link_invalid' } } });
    expect((await browser.put('/password', { new_password: password })).body).toMatchObject({
      has_password: true,
      may_set_password: false,
    });
    expect((await browser.put('/password', { new_password: password })).status).toBe(400);
    expect((await new TestBrowser(service).signIn()).status).toBe(201);

    await browser.post('/session/link', { token: await linkFor(service) });
    service.clock.advanceMs(15 * minuteMs);
    expect((await browser.get('/session')).body).toMatchObject({ may_set_password: false });
    expect((await browser.put('/password', { new_password: password })).status).toBe(400);
  });

  test('expires after a day, and a newer one takes its place', async () => {
    await using service = await stubService();
    const use = async (token: string) => (await new TestBrowser(service).post('/session/link', { token })).status;
    const [older, newer] = [await linkFor(service), await linkFor(service)];
    expect(await use(older)).toBe(401);
    service.clock.advanceMs(dayMs);
    expect(await use(newer)).toBe(401);
    expect(await use(await linkFor(service))).toBe(201);
  });

  test('of a reset ends all sessions, and nothing else signs in', async () => {
    await using service = await stubService();
    const browser = await signedIn(service);
    const { token } = await resetSignIn(service.core, 'a@localhost');
    expect((await browser.get('/session')).status).toBe(401);
    expect((await browser.signIn()).status).toBe(401);
    expect((await browser.post('/session/link', { token })).status).toBe(201);
  });
});

describe('two-factor authentication', () => {
  async function enabled() {
    const service = await stubService();
    const browser = await signedIn(service);
    const { secret } = (await browser.post('/two-factor')).body as unknown as { secret: string };
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    const code = () => totp.generate({ timestamp: service.clock.nowMs() });
    const confirmed = await browser.post('/two-factor/confirm', { code: code() });
    const { recovery_codes: recoveryCodes } = confirmed.body as unknown as { recovery_codes: string[] };
    return { service, browser, code, secret, recoveryCodes, nextPeriod: () => service.clock.advanceMs(30_000) };
  }

  test('is enabled by a code, and from then on signing in needs one', async () => {
    const { service, browser, code, secret, recoveryCodes, nextPeriod } = await enabled();
    await using stopped = service;
    expect(recoveryCodes).toHaveLength(10);
    expect((await browser.get('/session')).body).toMatchObject({ two_factor: true });
    expect((await browser.post('/two-factor')).body.error.type).toBe('two_factor_enabled');
    const other = new TestBrowser(stopped);
    expect((await other.signIn('a@localhost', 'wrong')).body.error.type).toBe('wrong_credentials');
    expect(await other.signIn()).toMatchObject({ status: 401, body: { error: { type: 'code_required' } } });
    expect((await other.signIn('a@localhost', password, '000000')).body.error.type).toBe('wrong_code');
    nextPeriod();
    expect((await other.signIn('a@localhost', 'wrong', code())).body.error.type).toBe('wrong_credentials');
    expect((await other.signIn('a@localhost', password, code())).status).toBe(201);
    const { twoFactor } = await stopped.store.signIns.credentials('acct_test');
    expect(JSON.stringify(twoFactor)).not.toContain(secret);
  });

  test('accepts each code and each recovery code once', async () => {
    const { service, code, recoveryCodes, nextPeriod } = await enabled();
    await using stopped = service;
    const signIn = async (typed = '') => (await new TestBrowser(stopped).signIn('a@localhost', password, typed)).status;
    expect(await signIn(code())).toBe(401);
    nextPeriod();
    const used = code();
    expect(await signIn(used)).toBe(201);
    expect(await signIn(used)).toBe(401);
    nextPeriod();
    expect(await signIn(used)).toBe(401);
    expect(await signIn(recoveryCodes[0]?.toUpperCase().replaceAll('-', ' '))).toBe(201);
    expect(await signIn(recoveryCodes[0])).toBe(401);
    expect(await signIn(recoveryCodes[1])).toBe(201);
  });

  test('is disabled with a code only', async () => {
    const { service, browser, code, nextPeriod } = await enabled();
    await using stopped = service;
    expect((await browser.delete('/two-factor', { code: '000000' })).body.error.type).toBe('wrong_code');
    nextPeriod();
    expect((await browser.delete('/two-factor', { code: code() })).body).toEqual({
      object: 'two_factor',
      deleted: true,
    });
    expect((await browser.delete('/two-factor', { code: code() })).body.error.type).toBe('two_factor_disabled');
    expect((await new TestBrowser(stopped).signIn()).status).toBe(201);
  });

  test('is not enabled by a wrong code, or without its set-up', async () => {
    await using service = await stubService();
    const browser = await signedIn(service);
    expect((await browser.post('/two-factor/confirm', { code: '123456' })).body.error.type).toBe('two_factor_disabled');
    await browser.post('/two-factor');
    expect((await browser.post('/two-factor/confirm', { code: '123456' })).body.error.type).toBe('wrong_code');
    expect((await browser.get('/session')).body).toMatchObject({ two_factor: false });
  });
});
