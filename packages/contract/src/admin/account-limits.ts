import { z } from 'zod';
import { integerField } from '../fields.ts';
import type { AccountLimits } from '../limits.ts';
import { accountParameters, adminOperation } from './protocol.ts';

/** The limits that can be set for a single account, by their names in the admin API. */
export const accountLimitFields = {
  concurrent_sandboxes: 'concurrentSandboxes',
  requests_per_minute: 'requestsPerMinute',
  creations_per_minute: 'creationsPerMinute',
  max_timeout_minutes: 'maxTimeoutMinutes',
  api_keys: 'apiKeys',
  stored_output_mb: 'storedOutputMb',
  snapshots: 'snapshots',
  snapshot_storage_mb: 'snapshotStorageMb',
} as const satisfies Readonly<Record<string, keyof AccountLimits>>;

export type AccountLimitField = keyof typeof accountLimitFields;

export const accountLimitFieldNames = Object.keys(accountLimitFields) as readonly AccountLimitField[];

/** The limits in force for an account. */
const adminLimitsSchema = z.object({
  object: z.literal('account_limits'),
  account_id: z.string(),
  email: z.string(),
  limits: z.object(fieldsOf(() => z.int())),
  /** The limits that are set for this account. The others follow the service. */
  own: z.object(fieldsOf(() => z.int().optional())),
});

export type AdminLimits = z.infer<typeof adminLimitsSchema>;

const max = 1_000_000;
/** What can be switched off for an account. */
const canBeZero: ReadonlySet<AccountLimitField> = new Set([
  'concurrent_sandboxes',
  'creations_per_minute',
  'snapshots',
]);

/** Changes limits. Null resets a limit to the service's; absent fields are unchanged. */
const setLimitsBody = z.object(
  fieldsOf((name) => {
    return integerField(name, canBeZero.has(name) ? 0 : 1, max)
      .nullable()
      .optional();
  }),
);

export type SetLimitsBody = z.infer<typeof setLimitsBody>;

function fieldsOf<Field extends z.ZodType>(field: (name: AccountLimitField) => Field) {
  return Object.fromEntries(accountLimitFieldNames.map((name) => [name, field(name)])) as Record<
    AccountLimitField,
    Field
  >;
}

export const getLimits = adminOperation({
  name: 'limits.get',
  method: 'GET',
  path: '/accounts/{email}/limits',
  params: accountParameters,
  response: adminLimitsSchema,
});

export const setLimits = adminOperation({
  name: 'limits.set',
  method: 'PATCH',
  path: '/accounts/{email}/limits',
  params: accountParameters,
  body: setLimitsBody,
  response: adminLimitsSchema,
});
