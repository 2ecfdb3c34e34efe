import { ApiError } from '../errors/api-error.ts';
import { DashboardError } from '../errors/dashboard-error.ts';
import { maySetPassword } from './session-life.ts';
import { type CurrentSession, notSignedIn, reloadSession } from './sessions.ts';
import { beginAttempt, type SignInNeeds, wrongCode } from './sign-in.ts';
import { confirmTwoFactor, disableTwoFactor } from './two-factor.ts';

interface NewPassword {
  readonly current: string | undefined;
  readonly wanted: string;
}

/** Sets the password of the account and ends its other sessions. Needs the current one, unless the session may do without. */
export async function setPassword(
  core: SignInNeeds,
  current: CurrentSession,
  { current: typed, wanted }: NewPassword,
  sourceAddress: string,
): Promise<CurrentSession> {
  const { account, session } = current;
  if (wanted.trim().toLowerCase() === account.email.toLowerCase()) {
    throw new ApiError('invalid_request', 'new_password must not be the e-mail address');
  }
  const { passwordHash } = await core.store.signIns.credentials(account.id);
  if (!maySetPassword(session, passwordHash !== null, core.clock.nowMs())) {
    if (typed === undefined) throw new ApiError('invalid_request', 'current_password must be given');
    const attempt = beginAttempt(core, sourceAddress, account.email);
    if (!(await core.passwords.verify(typed, passwordHash))) {
      throw new DashboardError('wrong_credentials', 'The current password is wrong.');
    }
    attempt.succeeded();
  }
  const newHash = await core.passwords.hash(wanted);
  if (!(await core.store.signIns.setPassword({ id: session.id, accountId: account.id }, newHash))) throw notSignedIn();
  core.connections.cutAccount(account.id, session.id);
  core.log.info({ account_id: account.id, session_id: session.id }, 'password_set');
  return await reloadSession(core, current);
}

/** Enables two-factor authentication. Returns the recovery codes. */
export async function enableTwoFactor(
  core: SignInNeeds,
  { account }: CurrentSession,
  code: string,
  sourceAddress: string,
): Promise<readonly string[]> {
  const attempt = beginAttempt(core, sourceAddress, account.email);
  const recoveryCodes = await confirmTwoFactor(core, account, code);
  if (recoveryCodes === undefined) throw wrongCode();
  attempt.succeeded();
  core.log.info({ account_id: account.id }, 'two_factor_enabled');
  return recoveryCodes;
}

export async function endTwoFactor(
  core: SignInNeeds,
  { account }: CurrentSession,
  code: string,
  sourceAddress: string,
): Promise<void> {
  const attempt = beginAttempt(core, sourceAddress, account.email);
  if (!(await disableTwoFactor(core, account, code))) throw wrongCode();
  attempt.succeeded();
  core.log.info({ account_id: account.id }, 'two_factor_disabled');
}
