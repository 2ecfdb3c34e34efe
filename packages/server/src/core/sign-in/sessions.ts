import { dashboardLimits } from '@mayfly/contract/dashboard';
import { ApiError, accountSuspended, notFound } from '../errors/api-error.ts';
import type { Clock, Ids, Log } from '../ports/runtime.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { SessionOwner, SessionRecord, SignInProof, SignInStore } from '../ports/store/sign-in-store.ts';
import type { HeldSession, SessionConnections } from './session-connections.ts';
import { hasExpired, isTouchDue } from './session-life.ts';
import { hashToken, newToken } from './tokens.ts';

/** What sessions need. */
export interface SessionNeeds {
  readonly store: { readonly signIns: SignInStore };
  readonly connections: SessionConnections;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** The browser that asks. */
export interface Browser {
  readonly sourceAddress: string;
  /** What it calls itself. */
  readonly userAgent: string | undefined;
}

/** The session of a request, and its account. */
export type CurrentSession = SessionOwner & { readonly held: HeldSession };

export interface BegunSession {
  readonly current: CurrentSession;
  /** For the cookie; only its hash is stored. */
  readonly token: string;
}

const { sessionsPerAccount, setPasswordMinutes, userAgentCharacters } = dashboardLimits;

/** The session with this token. Throws a 401 if there is none, or none any more, and a 403 if the account is suspended. */
export async function requireSession(core: SessionNeeds, token: string | undefined): Promise<CurrentSession> {
  const hash = token === undefined ? undefined : hashToken(token);
  const owner = hash === undefined ? undefined : await core.store.signIns.findSession(hash);
  const nowMs = core.clock.nowMs();
  if (hash === undefined || owner === undefined || hasExpired(owner.session, nowMs)) throw notSignedIn();
  if (owner.account.suspended) throw accountSuspended();
  const held = { id: owner.session.id, accountId: owner.account.id, hash };
  if (!isTouchDue(owner.session, nowMs)) return { ...owner, held };
  await core.store.signIns.touchSession(owner.session.id, nowMs);
  return { ...owner, session: { ...owner.session, lastUsedAtMs: nowMs }, held };
}

/** The session as it is stored now. Throws a 401 if it has ended. */
export async function reloadSession(core: SessionNeeds, { held }: CurrentSession): Promise<CurrentSession> {
  const owner = await core.store.signIns.findSession(held.hash);
  if (owner === undefined) throw notSignedIn();
  return { ...owner, held };
}

/** Begins a session with a new token. Undefined if the proof is no longer valid. */
export async function beginSession(
  core: SessionNeeds,
  account: AccountRecord,
  proof: SignInProof,
  { sourceAddress, userAgent }: Browser,
): Promise<BegunSession | undefined> {
  const token = newToken();
  const hash = hashToken(token);
  const nowMs = core.clock.nowMs();
  const session = {
    id: core.ids.next('ses'),
    hash,
    accountId: account.id,
    createdAtMs: nowMs,
    lastUsedAtMs: nowMs,
    maySetPasswordUntilMs: proof.kind === 'link' ? nowMs + setPasswordMinutes * 60_000 : null,
    sourceAddress,
    userAgent: userAgent === undefined ? null : shortened(userAgent),
  };
  if (!(await core.store.signIns.addSession(session, proof, sessionsPerAccount))) return undefined;
  core.log.info({ account_id: account.id, session_id: session.id, with: proof.kind }, 'session_started');
  const held = { id: session.id, accountId: account.id, hash };
  const owner = await core.store.signIns.findSession(hash);
  return owner && { token, current: { ...owner, held } };
}

/** Ends a session, and what it has open. Does nothing if it has ended already. */
export async function endSession(core: SessionNeeds, { id, accountId }: HeldSession): Promise<void> {
  await core.store.signIns.removeSession(accountId, id);
  core.connections.cut(id);
}

/** The account's sessions that have not expired, the most recently used first. */
export async function listSessions(core: SessionNeeds, { account }: CurrentSession): Promise<readonly SessionRecord[]> {
  const nowMs = core.clock.nowMs();
  return (await core.store.signIns.listSessions(account.id)).filter((session) => !hasExpired(session, nowMs));
}

/** Ends one session of the account, which may be the current one. Throws a 404 if the account has no such session. */
export async function revokeSession(core: SessionNeeds, { account }: CurrentSession, id: string): Promise<void> {
  if (!(await core.store.signIns.removeSession(account.id, id))) throw notFound('session');
  core.connections.cut(id);
}

/** Ends all sessions of the account but the current one. Returns how many. */
export async function revokeOtherSessions(core: SessionNeeds, { account, session }: CurrentSession): Promise<number> {
  const ended = await core.store.signIns.removeOtherSessions(account.id, session.id);
  core.connections.cutAccount(account.id, session.id);
  return ended;
}

export function notSignedIn(): ApiError {
  return new ApiError('unauthorized', 'Not signed in, or no longer. Sign in first.');
}

/** Text of a stranger, without what cannot be stored or shown. */
function shortened(text: string): string {
  return text
    .replaceAll(/\p{Cc}/gu, '')
    .slice(0, userAgentCharacters)
    .toWellFormed();
}
