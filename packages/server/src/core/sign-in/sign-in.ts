import type { AuditTrail } from '../audit/audit-trail.ts';
import { ApiError, accountSuspended } from '../errors/api-error.ts';
import { DashboardError } from '../errors/dashboard-error.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { AccountRecord, AccountStore } from '../ports/store/account-store.ts';
import type { SignInProof, SignInStore } from '../ports/store/sign-in-store.ts';
import { type Attempt, type Attempts, TooManyAttempts } from './attempts.ts';
import type { Passwords } from './passwords.ts';
import { type BegunSession, type Browser, beginSession, type SessionNeeds } from './sessions.ts';
import { hashToken } from './tokens.ts';
import { type CheckCodeNeeds, useCode } from './two-factor.ts';

/** What signing in needs. */
export interface SignInNeeds extends SessionNeeds, CheckCodeNeeds {
  readonly store: { readonly accounts: AccountStore; readonly signIns: SignInStore };
  readonly passwords: Passwords;
  readonly attempts: Attempts;
  readonly audit: AuditTrail;
  readonly metrics: Metrics;
}

/** Where an attempt to sign in comes from. */
export type SignInRequest = Browser & { readonly requestId: string };

interface TypedCredentials {
  readonly email: string;
  readonly password: string;
  /** Of the authenticator app, or a recovery code. */
  readonly code: string | undefined;
}

/**
 * Signs in with a password, and a code if the account has two-factor authentication. An address that no account has is refused like a wrong password, after
 * the same work.
 */
export async function signIn(core: SignInNeeds, typed: TypedCredentials, from: SignInRequest): Promise<BegunSession> {
  const attempt = beginAttempt(core, from.sourceAddress, typed.email);
  const account = await core.store.accounts.findByEmail(typed.email);
  return await recorded(core, account, 'signIn', from, async () => {
    const { passwordHash, twoFactor } = await core.store.signIns.credentials(account?.id ?? '');
    const matches = await core.passwords.verify(typed.password, passwordHash);
    if (!matches || account === undefined || passwordHash === null) throw wrongCredentials();
    if (account.suspended) {
      attempt.succeeded();
      throw accountSuspended();
    }
    if (twoFactor !== null) {
      if (typed.code === undefined) {
        attempt.succeeded();
        throw new DashboardError('code_required', 'Enter a code of the authenticator app, or a recovery code.');
      }
      if (!(await useCode(core, account, twoFactor, typed.code))) throw wrongCode();
    }
    const proof: SignInProof = { kind: 'password', passwordHash, twoFactorSecret: twoFactor?.secret ?? null };
    const begun = await beginSession(core, account, proof, from);
    if (begun === undefined) throw wrongCredentials();
    attempt.succeeded();
    return begun;
  });
}

/** Signs in with a link, which is used up. */
export async function signInWithLink(core: SignInNeeds, token: string, from: SignInRequest): Promise<BegunSession> {
  const attempt = beginAttempt(core, from.sourceAddress);
  const hash = hashToken(token);
  const link = await core.store.signIns.findLink(hash);
  return await recorded(core, link?.account, 'signInWithLink', from, async () => {
    if (link === undefined || core.clock.nowMs() >= link.expiresAtMs) throw linkInvalid();
    if (link.account.suspended) throw accountSuspended();
    const begun = await beginSession(core, link.account, { kind: 'link', hash }, from);
    if (begun === undefined) throw linkInvalid();
    attempt.succeeded();
    return begun;
  });
}

/** Counts an attempt to guess a password, a code or a link. Throws TooManyAttempts if it must not be made. */
export function beginAttempt(
  { attempts, metrics }: Pick<SignInNeeds, 'attempts' | 'metrics'>,
  sourceAddress: string,
  email?: string,
): Attempt {
  try {
    return attempts.begin(sourceAddress, email);
  } catch (error) {
    if (error instanceof TooManyAttempts) metrics.rateLimited('attempts');
    throw error;
  }
}

function wrongCredentials(): DashboardError {
  return new DashboardError('wrong_credentials', 'The e-mail address or the password is wrong.');
}

export function wrongCode(): DashboardError {
  return new DashboardError(
    'wrong_code',
    'The code is wrong or was used already. Wait for the next one, or use a recovery code.',
  );
}

function linkInvalid(): DashboardError {
  return new DashboardError(
    'link_invalid',
    'This sign-in link has expired, was used already or was replaced by a newer one. Ask the operator for another.',
  );
}

/**
 * Records an attempt to sign in to an existing account. There are at most as many as the windows of attempts allow. One without a code, which is how every
 * sign-in with two-factor authentication begins, is not recorded.
 */
async function recorded(
  { audit }: SignInNeeds,
  account: AccountRecord | undefined,
  action: string,
  { sourceAddress, requestId }: SignInRequest,
  run: () => Promise<BegunSession>,
): Promise<BegunSession> {
  const note = (sessionId: string | null, status: number, errorType: string | null) => {
    if (account === undefined || errorType === 'code_required' || errorType === 'rate_limit_exceeded') return;
    const actor = { kind: 'session', sessionId, sourceAddress } as const;
    const event = { actor, accountId: account.id, action, target: sessionId, details: null, requestId };
    audit.note(event, { status, errorType });
  };
  try {
    const begun = await run();
    note(begun.current.session.id, 201, null);
    return begun;
  } catch (error) {
    if (error instanceof ApiError || error instanceof DashboardError) note(null, error.status, error.type);
    throw error;
  }
}
