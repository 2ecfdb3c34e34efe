import { dashboardLimits } from '@mayfly/contract/dashboard';
import { type FindAccountNeeds, findAccount } from '../accounts/find-account.ts';
import { type ManageAccountsNeeds, openAccount } from '../accounts/manage-accounts.ts';
import type { Clock, Log } from '../ports/runtime.ts';
import type { AccountRecord, AccountStore } from '../ports/store/account-store.ts';
import type { SignInStore } from '../ports/store/sign-in-store.ts';
import type { SessionConnections } from './session-connections.ts';
import { hashToken, newToken } from './tokens.ts';

/** What giving out sign-in links needs. */
export interface LinkNeeds extends FindAccountNeeds {
  readonly store: { readonly accounts: AccountStore; readonly signIns: SignInStore };
  readonly clock: Clock;
  readonly log: Log;
}

/** What inviting people and resetting how they sign in needs. */
export type ManageSignInsNeeds = LinkNeeds & ManageAccountsNeeds & { readonly connections: SessionConnections };

/** A link that signs in once. */
export interface CreatedLink {
  readonly account: AccountRecord;
  /** Shown once; only its hash is stored. */
  readonly token: string;
  readonly expiresAtMs: number;
}

const hourMs = 3_600_000;
const loginLinkMs = dashboardLimits.loginLinkHours * hourMs;
const inviteLinkMs = dashboardLimits.inviteLinkDays * 24 * hourMs;

/** A new sign-in link for an account, in place of its earlier one. */
export async function createLoginLink(core: LinkNeeds, email: string): Promise<CreatedLink> {
  return await createLink(core, await findAccount(core, email), loginLinkMs);
}

/** A new sign-in link for somebody new, whose account is created if there is none. The credit is for a new account only. */
export async function invite(
  core: ManageSignInsNeeds,
  { email, creditMicroUsd }: { readonly email: string; readonly creditMicroUsd: number },
): Promise<CreatedLink & { readonly isNew: boolean }> {
  const isNew = await openAccount(core, { email, creditMicroUsd, key: null });
  return { ...(await createLink(core, await findAccount(core, email), inviteLinkMs)), isNew };
}

/** Removes the password and two-factor authentication of an account, ends its sessions, and returns a new sign-in link. */
export async function resetSignIn(core: ManageSignInsNeeds, email: string): Promise<CreatedLink> {
  const account = await findAccount(core, email);
  await core.store.signIns.reset(account.id);
  core.connections.cutAccount(account.id);
  core.log.info({ account_id: account.id }, 'sign_in_reset');
  return await createLink(core, account, loginLinkMs);
}

async function createLink(core: LinkNeeds, account: AccountRecord, lifetimeMs: number): Promise<CreatedLink> {
  const token = newToken();
  const expiresAtMs = core.clock.nowMs() + lifetimeMs;
  await core.store.signIns.setLink(account.id, { hash: hashToken(token), expiresAtMs });
  core.log.info({ account_id: account.id }, 'sign_in_link_created');
  return { account, token, expiresAtMs };
}
