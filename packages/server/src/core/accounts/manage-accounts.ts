import { formatUsd, maxMicroUsd } from '@mayfly/contract/admin';
import { type BalanceNeeds, balanceMicroUsd } from '../money/balance.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { Log } from '../ports/runtime.ts';
import type { AccountRecord, NewApiKey } from '../ports/store/account-store.ts';
import { type MintKeyNeeds, mintKey } from './api-keys.ts';
import { AccountError, type FindAccountNeeds, findAccount } from './find-account.ts';

/** What creating, suspending and crediting accounts needs. */
export type ManageAccountsNeeds = FindAccountNeeds &
  BalanceNeeds &
  MintKeyNeeds & {
    readonly metrics: Metrics;
    readonly log: Log;
  };

/** An account and its current balance. */
export interface AccountWithBalance {
  readonly account: AccountRecord;
  readonly balanceMicroUsd: number;
}

export interface CreatedAccount extends AccountWithBalance {
  readonly keyId: string;
  /** Shown once; only its hash is stored. */
  readonly apiKey: string;
}

export interface CreditOrder {
  /** Negative to withdraw credit. */
  readonly amountMicroUsd: number;
  /** Stored in the ledger, for people. */
  readonly note: string;
}

/** Every account with its balance, oldest first. */
export async function listAccounts(core: ManageAccountsNeeds): Promise<readonly AccountWithBalance[]> {
  const accounts = await core.store.accounts.list();
  return await Promise.all(accounts.map((account) => withBalance(core, account)));
}

export async function getAccount(core: ManageAccountsNeeds, email: string): Promise<AccountWithBalance> {
  return await withBalance(core, await findAccount(core, email));
}

/** Creates an account with its first key. */
export async function createAccount(
  core: ManageAccountsNeeds,
  { email, creditMicroUsd }: { readonly email: string; readonly creditMicroUsd: number },
): Promise<CreatedAccount> {
  const { apiKey, key } = mintKey(core);
  if (!(await openAccount(core, { email, creditMicroUsd, key }))) {
    throw new AccountError('email_taken', `There already is an account ${email}. Create another key for it instead.`);
  }
  return { ...(await getAccount(core, email)), keyId: key.id, apiKey };
}

/** Creates an account; false if the e-mail address is taken. */
export async function openAccount(
  core: ManageAccountsNeeds,
  account: { readonly email: string; readonly creditMicroUsd: number; readonly key: NewApiKey | null },
): Promise<boolean> {
  const { email, creditMicroUsd, key } = account;
  const id = core.ids.next('acct');
  const createdAtMs = core.clock.nowMs();
  const opened = { id, email, openingCreditMicroUsd: creditMicroUsd, createdAtMs, key };
  if (!(await core.store.accounts.create(opened))) return false;
  core.metrics.credited(creditMicroUsd);
  core.log.info({ account_id: id, key_id: key?.id, credit_micro_usd: creditMicroUsd }, 'account_created');
  return true;
}

/** Suspends or resumes an account. All requests of a suspended account and new visits of its previews are refused; its sandboxes keep running. */
export async function setSuspended(
  core: ManageAccountsNeeds,
  email: string,
  suspended: boolean,
): Promise<AccountWithBalance> {
  const { id } = await findAccount(core, email);
  await core.store.accounts.setSuspended(id, suspended);
  core.log.info({ account_id: id }, suspended ? 'account_suspended' : 'account_resumed');
  return await getAccount(core, email);
}

/** Adds credit to an account, or withdraws some. */
export async function addCredit(
  core: ManageAccountsNeeds,
  email: string,
  order: CreditOrder,
): Promise<AccountWithBalance> {
  const { account, balanceMicroUsd: before } = await getAccount(core, email);
  const refusal = refuseCredit(before, order.amountMicroUsd);
  if (refusal !== undefined) throw new AccountError('invalid_request', `${account.email}: ${refusal}`);
  const id = core.ids.next('crd');
  await core.store.ledger.addCredit({ id, accountId: account.id, createdAtMs: core.clock.nowMs(), ...order });
  core.metrics.credited(order.amountMicroUsd);
  core.log.info({ account_id: account.id, credit_id: id, amount_micro_usd: order.amountMicroUsd }, 'credit_added');
  return await withBalance(core, account);
}

/** Why the amount cannot be added to this balance; undefined if it can. No more than the balance can be withdrawn. */
function refuseCredit(before: number, amountMicroUsd: number): string | undefined {
  const after = before + amountMicroUsd;
  if (after > maxMicroUsd) {
    return `The balance would be ${formatUsd(after)} USD. The maximum is ${formatUsd(maxMicroUsd)} USD.`;
  }
  if (amountMicroUsd > 0 || after >= 0) return undefined;
  if (before <= 0) return `There is no credit to withdraw. The balance is ${formatUsd(before)} USD.`;
  return `At most the balance of ${formatUsd(before)} USD can be withdrawn.`;
}

async function withBalance(core: ManageAccountsNeeds, account: AccountRecord): Promise<AccountWithBalance> {
  return { account, balanceMicroUsd: await balanceMicroUsd(core, account) };
}
