import { DashboardError } from '../errors/dashboard-error.ts';
import type { Clock } from '../ports/runtime.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { SignInStore, TwoFactorRecord } from '../ports/store/sign-in-store.ts';
import {
  hashRecoveryCode,
  isTotpCode,
  newRecoveryCodes,
  newTotpSecret,
  periodOfCode,
  plainCode,
  totpUri,
} from './one-time-codes.ts';
import type { SecretBox } from './secret-box.ts';

/** What checking codes needs. */
export interface CheckCodeNeeds {
  readonly store: { readonly signIns: SignInStore };
  readonly secrets: SecretBox;
  readonly clock: Clock;
}

/** Whether a code is right. A code that is right is used up. */
export async function useCode(
  core: CheckCodeNeeds,
  account: AccountRecord,
  twoFactor: TwoFactorRecord,
  code: string,
): Promise<boolean> {
  const { signIns } = core.store;
  if (!isTotpCode(code)) return await signIns.useRecoveryCode(account.id, hashRecoveryCode(code));
  const lastPeriod = currentPeriod(core, twoFactor.secret, code);
  return lastPeriod !== undefined && (await signIns.usePeriod(account.id, { secret: twoFactor.secret, lastPeriod }));
}

/** Starts the set-up with a new secret, in place of one that was not confirmed. */
export async function startTwoFactor(
  core: CheckCodeNeeds,
  account: AccountRecord,
): Promise<{ readonly secret: string; readonly uri: string }> {
  const secret = newTotpSecret();
  if (!(await core.store.signIns.setPendingSecret(account.id, core.secrets.seal(secret)))) throw alreadyEnabled();
  return { secret, uri: totpUri(secret, account.email) };
}

/** Enables two-factor authentication if the code is one of the new secret's. Returns the recovery codes, or undefined if the code is wrong. */
export async function confirmTwoFactor(
  core: CheckCodeNeeds,
  account: AccountRecord,
  code: string,
): Promise<readonly string[] | undefined> {
  const { twoFactor, pendingSecret } = await core.store.signIns.credentials(account.id);
  if (twoFactor !== null) throw alreadyEnabled();
  if (pendingSecret === null) throw notStarted();
  const lastPeriod = isTotpCode(code) ? currentPeriod(core, pendingSecret, code) : undefined;
  if (lastPeriod === undefined) return undefined;
  const recoveryCodes = newRecoveryCodes();
  const confirmed = { secret: pendingSecret, lastPeriod };
  if (!(await core.store.signIns.enableTwoFactor(account.id, confirmed, recoveryCodes.map(hashRecoveryCode)))) {
    throw notStarted();
  }
  return recoveryCodes;
}

/** Disables two-factor authentication if the code is right; false if it is wrong. */
export async function disableTwoFactor(core: CheckCodeNeeds, account: AccountRecord, code: string): Promise<boolean> {
  const { twoFactor } = await core.store.signIns.credentials(account.id);
  if (twoFactor === null) {
    throw new DashboardError('two_factor_disabled', 'Two-factor authentication is not enabled.');
  }
  if (!(await useCode(core, account, twoFactor, code))) return false;
  await core.store.signIns.disableTwoFactor(account.id);
  return true;
}

/** The period of a code of a sealed secret. Undefined if the code is wrong, or if the key that the secret was sealed with is lost. */
function currentPeriod({ secrets, clock }: CheckCodeNeeds, sealed: string, code: string): number | undefined {
  const secret = secrets.open(sealed);
  return secret === undefined ? undefined : periodOfCode(secret, plainCode(code), clock.nowMs());
}

function alreadyEnabled(): DashboardError {
  return new DashboardError('two_factor_enabled', 'Two-factor authentication is enabled already. Disable it first.');
}

function notStarted(): DashboardError {
  return new DashboardError('two_factor_disabled', 'The set-up was not started, or was started again. Start it first.');
}
