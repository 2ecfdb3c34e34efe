import { formatUsd, maxMicroUsd } from '@mayfly/contract/admin/usd.ts';
import type { AccountsContext } from './accounts-context.ts';
import { type AccountWithBalance, withBalance } from './balance.ts';
import { getAccount } from './get-account.ts';
import { AccountRefusal } from './refusal.ts';

export interface CreditOrder {
  /** Negative to take credit back. */
  readonly amountMicroUsd: number;
  /** Kept in the ledger, for people. */
  readonly note: string;
}

/** Why so much cannot be added to that balance; undefined if it can. No more is taken back than is left. */
export function refuseCredit(balanceMicroUsd: number, amountMicroUsd: number): string | undefined {
  const after = balanceMicroUsd + amountMicroUsd;
  if (after > maxMicroUsd) return `that would make ${formatUsd(after)} USD; the most is ${formatUsd(maxMicroUsd)}`;
  if (amountMicroUsd > 0 || after >= 0) return undefined;
  if (balanceMicroUsd <= 0)
    return `there is nothing left to take back: the balance is ${formatUsd(balanceMicroUsd)} USD`;
  return `at most what is left can be taken back: ${formatUsd(balanceMicroUsd)} USD`;
}

/** Adds credit to an account, or takes some back. */
export async function addCredit(core: AccountsContext, email: string, order: CreditOrder): Promise<AccountWithBalance> {
  const { account, balanceMicroUsd } = await getAccount(core, email);
  const refusal = refuseCredit(balanceMicroUsd, order.amountMicroUsd);
  if (refusal !== undefined) throw new AccountRefusal('invalid_request', `${account.email}: ${refusal}`);
  const id = core.ids.next('crd');
  await core.store.ledger.addCredit({ id, accountId: account.id, createdAtMs: core.clock.nowMs(), ...order });
  core.log.info({ account_id: account.id, credit_id: id, amount_micro_usd: order.amountMicroUsd }, 'credit_added');
  return await withBalance(core, account);
}
