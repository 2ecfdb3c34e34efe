import type { AccountLimits } from '@mayfly/contract';
import {
  type AccountLimitField,
  type AdminAccount,
  type AdminKey,
  type AdminLimits,
  accountLimitFields,
} from '@mayfly/contract/admin';
import type { LimitsInForce } from '../core/accounts/account-limits.ts';
import type { OwnedKey } from '../core/accounts/api-keys.ts';
import type { AccountWithBalance } from '../core/accounts/manage-accounts.ts';
import { usdOf } from '../core/money/balance.ts';

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

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

function namedLimits(limits: Partial<AccountLimits>): Partial<Record<AccountLimitField, number>> {
  const named = Object.entries(accountLimitFields).map(([field, name]) => [field, limits[name]]);
  return Object.fromEntries(named.filter(([, value]) => value !== undefined));
}
