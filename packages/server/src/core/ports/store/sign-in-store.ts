import type { AccountRecord } from './account-store.ts';

/** What an account signs in with. */
export interface Credentials {
  /** Null until a password is set. */
  readonly passwordHash: string | null;
  /** Null without two-factor authentication. */
  readonly twoFactor: TwoFactorRecord | null;
  /** A secret that is not confirmed yet, sealed. */
  readonly pendingSecret: string | null;
}

export interface TwoFactorRecord {
  /** The secret that codes are made of, sealed. */
  readonly secret: string;
  /** The period of the last code that was accepted. Codes of it and of earlier periods count as used. */
  readonly lastPeriod: number;
}

/** A signed-in browser, as it is stored. */
export interface SessionRecord {
  readonly id: string;
  readonly accountId: string;
  readonly createdAtMs: number;
  /** Up to a few minutes behind, see `touchAfterMs`. */
  readonly lastUsedAtMs: number;
  /** Until when a password may be set without the current one; null for sessions that began with a password. */
  readonly maySetPasswordUntilMs: number | null;
  readonly sourceAddress: string;
  readonly userAgent: string | null;
}

export interface NewSession extends SessionRecord {
  /** SHA-256 of the token, lower-case hex. The token itself is never stored. */
  readonly hash: string;
}

/** A session, its account, and what that signs in with. */
export interface SessionOwner {
  readonly session: SessionRecord;
  readonly account: AccountRecord;
  readonly hasPassword: boolean;
  readonly hasTwoFactor: boolean;
}

/** What a session is begun with. It must still be valid when the session is stored. */
export type SignInProof =
  | { readonly kind: 'password'; readonly passwordHash: string; readonly twoFactorSecret: string | null }
  /** Used up by the session that begins with it. */
  | { readonly kind: 'link'; readonly hash: string };

/** A sign-in link. An account has at most one. */
export interface SignInLink {
  /** SHA-256 of the token, lower-case hex. */
  readonly hash: string;
  readonly expiresAtMs: number;
}

/** What accounts sign in with, and who is signed in. */
export interface SignInStore {
  credentials(accountId: string): Promise<Credentials>;
  /** Sets the password on behalf of a session, and ends all other sessions of the account. False if the session has ended. */
  setPassword(session: Pick<SessionRecord, 'id' | 'accountId'>, passwordHash: string): Promise<boolean>;
  /** Sets the password of an account that has none; false if it has one. */
  setFirstPassword(accountId: string, passwordHash: string): Promise<boolean>;
  /** Stores a secret to be confirmed in place of an earlier one; false if the account has two-factor authentication. */
  setPendingSecret(accountId: string, secret: string): Promise<boolean>;
  /** Enables two-factor authentication with the pending secret; false if that is another one by now. */
  enableTwoFactor(accountId: string, confirmed: TwoFactorRecord, recoveryHashes: readonly string[]): Promise<boolean>;
  /** Uses up the code of a period, and the codes of earlier ones; false if it was used already or the secret is another one by now. */
  usePeriod(accountId: string, used: TwoFactorRecord): Promise<boolean>;
  /** Uses a recovery code up; false if the account has no such code. */
  useRecoveryCode(accountId: string, hash: string): Promise<boolean>;
  /** Removes the secret and all recovery codes. */
  disableTwoFactor(accountId: string): Promise<void>;
  /** Removes the password, two-factor authentication and the link, and ends all sessions. */
  reset(accountId: string): Promise<void>;
  /** Stores a link in place of the account's earlier one. */
  setLink(accountId: string, link: SignInLink): Promise<void>;
  findLink(hash: string): Promise<{ readonly account: AccountRecord; readonly expiresAtMs: number } | undefined>;
  /**
   * Stores a session. If the account has more than `maxSessions` then, those that were used least recently end. False, and nothing is stored, if the
   * proof is no longer valid.
   */
  addSession(session: NewSession, proof: SignInProof, maxSessions: number): Promise<boolean>;
  findSession(hash: string): Promise<SessionOwner | undefined>;
  /** The most recently used first. */
  listSessions(accountId: string): Promise<readonly SessionRecord[]>;
  /** Records that a session was used. */
  touchSession(id: string, usedAtMs: number): Promise<void>;
  /** Ends one session of the account; false if it has no such session. */
  removeSession(accountId: string, id: string): Promise<boolean>;
  /** Ends all sessions of the account but one. Returns how many. */
  removeOtherSessions(accountId: string, keptId: string): Promise<number>;
}
