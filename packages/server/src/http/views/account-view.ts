import type { Account, Usage } from '@mayfly/contract';
import { limitsOf } from '../../core/admission/account-limits.ts';
import type { Core } from '../../core/context.ts';
import { usdOf } from '../../core/money/cost.ts';
import type { UsageSummary } from '../../core/money/usage.ts';
import type { AccountRecord } from '../../core/ports/store/account-store.ts';

/** An account as the interface shows it. */
export function accountView(
  account: AccountRecord,
  balanceMicroUsd: number,
  { limits, prices }: Pick<Core, 'limits' | 'prices'>,
): Account {
  const { concurrentSandboxes, maxTimeoutMinutes } = limitsOf(limits, account);
  const { small, medium, large } = prices;
  return {
    object: 'account',
    id: account.id,
    email: account.email,
    balance_usd: usdOf(balanceMicroUsd),
    limits: { concurrent_sandboxes: concurrentSandboxes, max_timeout_minutes: maxTimeoutMinutes },
    pricing_usd_per_hour: { small: usdOf(small), medium: usdOf(medium), large: usdOf(large) },
  };
}

/** A summary of usage as the interface shows it. */
export function usageView(usage: UsageSummary): Usage {
  return {
    object: 'usage',
    period_days: usage.days,
    balance_usd: usdOf(usage.balanceMicroUsd),
    spent_usd: usdOf(usage.spentMicroUsd),
    added_usd: usdOf(usage.addedMicroUsd),
    sandboxes_created: usage.sandboxesCreated,
    runtime_minutes: usage.runtimeMinutes,
  };
}
