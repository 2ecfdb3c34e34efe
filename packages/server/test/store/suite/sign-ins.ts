import { expect, test } from 'vitest';
import type { NewSession, SignInProof } from '../../../src/core/ports/store/sign-in-store.ts';
import type { Store } from '../../../src/core/ports/store/store.ts';
import { account, newAccount, type OpenedStore } from '../fixtures.ts';

const withPassword = { kind: 'password', passwordHash: 'hash', twoFactorSecret: null } as const;
const maxSessions = 3;

function newSession(name: string, more: Partial<NewSession> = {}): NewSession {
  return {
    id: `ses_${name}`,
    hash: `hash_${name}`,
    accountId: account.id,
    createdAtMs: 1_790_000_000_000,
    lastUsedAtMs: 1_790_000_000_000,
    maySetPasswordUntilMs: null,
    sourceAddress: '2001:db8::1',
    userAgent: 'Mozilla/5.0',
    ...more,
  };
}

/** Adds a session that begins with the account's password. */
async function signedIn({ signIns }: Store, name: string, more: Partial<NewSession> = {}): Promise<NewSession> {
  const session = newSession(name, more);
  await signIns.setFirstPassword(session.accountId, 'hash');
  expect(await signIns.addSession(session, withPassword, maxSessions)).toBe(true);
  return session;
}

const idsOf = async ({ signIns }: Store, accountId = account.id) =>
  (await signIns.listSessions(accountId)).map(({ id }) => id);

export function describeSignIns(opened: OpenedStore): void {
  test('an account has nothing to sign in with at first, and its first password is set once', async () => {
    const { signIns } = opened();
    const none = { passwordHash: null, twoFactor: null, pendingSecret: null };
    expect(await signIns.credentials(account.id)).toEqual(none);
    const set = await Promise.all(['a', 'b', 'c'].map((hash) => signIns.setFirstPassword(account.id, hash)));
    expect(set.filter(Boolean)).toHaveLength(1);
    expect(await signIns.setFirstPassword(account.id, 'd')).toBe(false);
    expect((await signIns.credentials(account.id)).passwordHash).toMatch(/^[abc]$/);
  });

  test('a session is found by its hash, with its account', async () => {
    const { hash, ...session } = await signedIn(opened(), 'a');
    const owner = { id: account.id, email: account.email, suspended: false, limits: {}, createdAtMs: 1 };
    expect(await opened().signIns.findSession(hash)).toEqual({
      session,
      account: owner,
      hasPassword: true,
      hasTwoFactor: false,
    });
    expect(await opened().signIns.findSession('other')).toBeUndefined();
    await opened().signIns.touchSession(session.id, session.lastUsedAtMs + 5);
    expect(await opened().signIns.listSessions(account.id)).toEqual([
      { ...session, lastUsedAtMs: session.lastUsedAtMs + 5 },
    ]);
  });

  test('no session begins with a password or a secret that was changed meanwhile', async () => {
    const { signIns } = opened();
    const add = (proof: SignInProof) => signIns.addSession(newSession('a'), proof, maxSessions);
    expect(await add(withPassword)).toBe(false);
    await signIns.setFirstPassword(account.id, 'hash');
    expect(await add({ ...withPassword, passwordHash: 'old' })).toBe(false);
    expect(await add({ ...withPassword, twoFactorSecret: 'secret' })).toBe(false);
    await signIns.setPendingSecret(account.id, 'secret');
    await signIns.enableTwoFactor(account.id, { secret: 'secret', lastPeriod: 1 }, ['r1']);
    expect(await add(withPassword)).toBe(false);
    expect(await idsOf(opened())).toEqual([]);
    expect(await add({ ...withPassword, twoFactorSecret: 'secret' })).toBe(true);
    expect(await signIns.findSession('hash_a')).toMatchObject({ hasPassword: true, hasTwoFactor: true });
  });

  test('beyond the limit the sessions that were used least recently end', async () => {
    for (const [index, name] of ['a', 'b', 'c'].entries())
      await signedIn(opened(), name, { lastUsedAtMs: 100 + index });
    await opened().signIns.touchSession('ses_a', 200);
    await signedIn(opened(), 'd', { lastUsedAtMs: 50 });
    expect(await idsOf(opened())).toEqual(['ses_a', 'ses_c', 'ses_d']);
  });

  test('a password is set by a session that has not ended, and ends all others of the account', async () => {
    const { accounts, signIns } = opened();
    await accounts.create(newAccount('2'));
    await signedIn(opened(), 'other', { accountId: 'acct_2' });
    const own = await signedIn(opened(), 'a', { maySetPasswordUntilMs: 1_790_000_900_000 });
    await signedIn(opened(), 'b');
    expect(await signIns.setPassword({ id: 'ses_other', accountId: account.id }, 'new')).toBe(false);
    expect(await signIns.setPassword({ id: 'ses_gone', accountId: account.id }, 'new')).toBe(false);
    expect(await signIns.setPassword(own, 'new')).toBe(true);
    expect((await signIns.credentials(account.id)).passwordHash).toBe('new');
    expect((await signIns.listSessions(account.id)).map((each) => [each.id, each.maySetPasswordUntilMs])).toEqual([
      ['ses_a', null],
    ]);
    expect(await idsOf(opened(), 'acct_2')).toEqual(['ses_other']);
  });

  test('sessions are ended one by one or all but one, by their own account only', async () => {
    const { accounts, signIns } = opened();
    await accounts.create(newAccount('2'));
    for (const name of ['a', 'b', 'c']) await signedIn(opened(), name);
    await signedIn(opened(), 'other', { accountId: 'acct_2' });
    expect(await signIns.removeSession('acct_2', 'ses_a')).toBe(false);
    expect(await signIns.removeSession(account.id, 'ses_a')).toBe(true);
    expect(await signIns.removeSession(account.id, 'ses_a')).toBe(false);
    expect(await signIns.findSession('hash_a')).toBeUndefined();
    expect(await signIns.removeOtherSessions(account.id, 'ses_b')).toBe(1);
    expect(await idsOf(opened())).toEqual(['ses_b']);
    expect(await idsOf(opened(), 'acct_2')).toEqual(['ses_other']);
  });

  test('a link works for one session, and a newer one takes its place', async () => {
    const { signIns } = opened();
    await signIns.setLink(account.id, { hash: 'first', expiresAtMs: 5 });
    await signIns.setLink(account.id, { hash: 'second', expiresAtMs: 7 });
    expect(await signIns.findLink('first')).toBeUndefined();
    expect(await signIns.findLink('second')).toMatchObject({ account: { id: account.id }, expiresAtMs: 7 });
    const begin = (name: string) => signIns.addSession(newSession(name), { kind: 'link', hash: 'second' }, maxSessions);
    const begun = await Promise.all(['a', 'b', 'c', 'd'].map(begin));
    expect(begun.filter(Boolean)).toHaveLength(1);
    expect(await idsOf(opened())).toHaveLength(1);
    expect(await signIns.findLink('second')).toBeUndefined();
  });

  test('two-factor authentication is enabled with the pending secret only', async () => {
    const { signIns } = opened();
    const enable = (secret: string) => signIns.enableTwoFactor(account.id, { secret, lastPeriod: 10 }, ['r1', 'r2']);
    expect(await enable('one')).toBe(false);
    expect(await signIns.setPendingSecret(account.id, 'one')).toBe(true);
    expect(await signIns.setPendingSecret(account.id, 'two')).toBe(true);
    expect(await signIns.credentials(account.id)).toMatchObject({ twoFactor: null, pendingSecret: 'two' });
    expect(await enable('one')).toBe(false);
    expect(await enable('two')).toBe(true);
    expect(await enable('two')).toBe(false);
    expect(await signIns.setPendingSecret(account.id, 'three')).toBe(false);
    expect(await signIns.credentials(account.id)).toEqual({
      passwordHash: null,
      twoFactor: { secret: 'two', lastPeriod: 10 },
      pendingSecret: null,
    });
  });

  test('each period and each recovery code is used once, even concurrently, until two-factor authentication is disabled', async () => {
    const { signIns } = opened();
    await signIns.setPendingSecret(account.id, 's');
    await signIns.enableTwoFactor(account.id, { secret: 's', lastPeriod: 10 }, ['r1', 'r2']);
    const use = (lastPeriod: number, secret = 's') => signIns.usePeriod(account.id, { secret, lastPeriod });
    expect(await use(10)).toBe(false);
    expect(await use(11, 'other')).toBe(false);
    expect((await Promise.all([use(11), use(11), use(11)])).filter(Boolean)).toHaveLength(1);
    expect(await use(10)).toBe(false);
    const recover = () => signIns.useRecoveryCode(account.id, 'r1');
    expect((await Promise.all([recover(), recover(), recover()])).filter(Boolean)).toHaveLength(1);
    await signIns.disableTwoFactor(account.id);
    expect(await signIns.useRecoveryCode(account.id, 'r2')).toBe(false);
    expect(await use(12)).toBe(false);
    expect(await signIns.setPendingSecret(account.id, 't')).toBe(true);
  });

  test('a reset leaves nothing to sign in with, and nobody signed in', async () => {
    const { signIns } = opened();
    await signedIn(opened(), 'a');
    await signIns.setPendingSecret(account.id, 's');
    await signIns.enableTwoFactor(account.id, { secret: 's', lastPeriod: 10 }, ['r1']);
    await signIns.setLink(account.id, { hash: 'link', expiresAtMs: 5 });
    await signIns.reset(account.id);
    expect(await signIns.credentials(account.id)).toEqual({ passwordHash: null, twoFactor: null, pendingSecret: null });
    expect(await signIns.findSession('hash_a')).toBeUndefined();
    expect(await signIns.findLink('link')).toBeUndefined();
    expect(await signIns.useRecoveryCode(account.id, 'r1')).toBe(false);
  });

  test('sessions that are old or were not used for long are removed, and links that have expired', async () => {
    const { signIns, retention } = opened();
    await signedIn(opened(), 'unused', { createdAtMs: 900, lastUsedAtMs: 900 });
    await signedIn(opened(), 'old', { createdAtMs: 100, lastUsedAtMs: 2_000 });
    await signedIn(opened(), 'kept', { createdAtMs: 900, lastUsedAtMs: 1_000 });
    expect(await retention.removeSessions({ usedMs: 1_000, createdMs: 500 }, 1)).toBe(1);
    expect(await retention.removeSessions({ usedMs: 1_000, createdMs: 500 }, 10)).toBe(1);
    expect(await idsOf(opened())).toEqual(['ses_kept']);
    await signIns.setLink(account.id, { hash: 'link', expiresAtMs: 5 });
    expect(await retention.removeSignInLinks(5, 10)).toBe(0);
    expect(await retention.removeSignInLinks(6, 10)).toBe(1);
    expect(await signIns.findLink('link')).toBeUndefined();
  });
}
