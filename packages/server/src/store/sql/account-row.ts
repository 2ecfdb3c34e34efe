import { type AccountLimits, accountLimitNames } from '@mayfly/contract';
import type { Selectable } from 'kysely';
import type { AccountRecord } from '../../core/ports/store/account-store.ts';
import type { AccountsTable } from '../schema.ts';

export const limitColumns = {
  requestsPerMinute: 'limit_requests_per_minute',
  creationsPerMinute: 'limit_creations_per_minute',
  concurrentSandboxes: 'limit_concurrent_sandboxes',
  maxTimeoutMinutes: 'limit_max_timeout_minutes',
  apiKeys: 'limit_api_keys',
} as const satisfies Record<keyof AccountLimits, keyof AccountsTable>;

/** What an account's record is made of. */
export const accountColumns = [
  'accounts.id',
  'accounts.email',
  'accounts.suspended',
  'accounts.created_at_ms',
  'accounts.limit_requests_per_minute',
  'accounts.limit_creations_per_minute',
  'accounts.limit_concurrent_sandboxes',
  'accounts.limit_max_timeout_minutes',
  'accounts.limit_api_keys',
] as const;

type AccountRow = Omit<Selectable<AccountsTable>, 'email_key' | 'balance_micro_usd'>;

export function accountOf(row: AccountRow): AccountRecord {
  const limits: { -readonly [Name in keyof AccountLimits]?: number } = {};
  for (const name of accountLimitNames) {
    const limit = row[limitColumns[name]];
    if (limit !== null) limits[name] = limit;
  }
  return { id: row.id, email: row.email, suspended: row.suspended !== 0, limits, createdAtMs: row.created_at_ms };
}
