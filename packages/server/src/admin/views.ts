import type { AccountLimits } from '@mayfly/contract';
import type { AdminAccount } from '@mayfly/contract/admin/accounts.ts';
import type { AdminKey } from '@mayfly/contract/admin/keys.ts';
import { type AccountLimitField, type AdminLimits, accountLimitFields } from '@mayfly/contract/admin/limits.ts';
import type { AccountWithBalance } from '../core/accounts/balance.ts';
import type { OwnedKey } from '../core/accounts/keys.ts';
import type { LimitsInForce } from '../core/accounts/limits.ts';
import { usdOf } from '../core/money/cost.ts';

const isoOf = (ms: number) => new Date(ms).toISOString();

/** An account as an operator sees it. */
export function accountView({ account, balanceMicroUsd }: AccountWithBalance): AdminAccount {
  return {
    object: 'account',
    id: account.id,
    email: account.email,
    status: account.suspended ? 'suspended' : 'active',
    balance_usd: usdOf(balanceMicroUsd),
    created_at: isoOf(account.createdAtMs),
  };
}

/** A key as an operator sees it. */
export function keyView({ account, key }: OwnedKey): AdminKey {
  return {
    object: 'api_key',
    id: key.id,
    email: account.email,
    prefix: key.prefix,
    status: key.revokedAtMs === null ? 'active' : 'revoked',
    created_at: isoOf(key.createdAtMs),
    revoked_at: key.revokedAtMs === null ? null : isoOf(key.revokedAtMs),
  };
}

/** An account's limits as an operator sees them. */
export function limitsView({ account, limits }: LimitsInForce): AdminLimits {
  return {
    object: 'account_limits',
    account_id: account.id,
    email: account.email,
    limits: namedLimits(limits) as AdminLimits['limits'],
    own: namedLimits(account.limits),
  };
}

function namedLimits(limits: Partial<AccountLimits>): Partial<Record<AccountLimitField, number>> {
  const named = Object.entries(accountLimitFields).map(([field, name]) => [field, limits[name]]);
  return Object.fromEntries(named.filter(([, value]) => value !== undefined));
}
