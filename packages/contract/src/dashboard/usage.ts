import { z } from 'zod';
import { integerParameter, parameterOr } from '../fields.ts';
import { fixedLimits } from '../limits.ts';
import { sizeNames } from '../sizes.ts';
import { dashboardOperation } from './operation.ts';

/** What usage is counted under: a size, runs whose size is not known any more, or the storage of snapshots. */
export const usageItems = [...sizeNames, 'unknown', 'storage'] as const;

export type UsageItem = (typeof usageItems)[number];

/** One item of one UTC day. */
const usageDaySchema = z.object({
  date: z.iso.date(),
  item: z.enum(usageItems),
  cost_usd: z.number().min(0),
  /** Of sandboxes, in seconds. A sandbox that ran over midnight has a part on both days. */
  runtime_seconds: z.number().min(0),
  /** Sandboxes that started on this day. */
  sandboxes: z.int().min(0),
});

export type UsageDay = z.infer<typeof usageDaySchema>;

const runningSizeSchema = z.object({
  size: z.enum(sizeNames),
  sandboxes: z.int().min(1),
  /** All of them together, each at the price that it was created at. */
  usd_per_hour: z.number().min(0),
});

export type RunningSize = z.infer<typeof runningSizeSchema>;

const usageDaysSchema = z.object({
  object: z.literal('usage_days'),
  /** The time that everything is as of. */
  at: z.iso.datetime(),
  /** The first and the last day of the period, both included. The last one is today. */
  first_date: z.iso.date(),
  last_date: z.iso.date(),
  balance_usd: z.number(),
  /** What runs now. */
  running: z.array(runningSizeSchema),
  /** What stored snapshots cost now. */
  storage_usd_per_hour: z.number().min(0),
  /** Oldest first, including what running sandboxes and stored snapshots cost until now. Days and items without usage are left out. */
  data: z.array(usageDaySchema),
});

export type UsageDays = z.infer<typeof usageDaysSchema>;

const defaultDays = 30;

export const listUsageDays = dashboardOperation({
  id: 'listUsageDays',
  method: 'GET',
  path: '/usage/days',
  summary: 'Usage of the account by UTC day and size',
  query: z.object({
    days: parameterOr(integerParameter('days', 1, fixedLimits.maxUsageDays), defaultDays),
  }),
  responses: { 200: usageDaysSchema },
  errors: ['invalid_request'],
});

const quotaSchema = z.object({ used: z.int().min(0), limit: z.int().min(0) });

export type Quota = z.infer<typeof quotaSchema>;

const windowSchema = z.object({
  limit: z.int().min(0),
  remaining: z.int().min(0),
  resets_in_seconds: z.int().min(1),
});

export type RateWindow = z.infer<typeof windowSchema>;

const limitsSchema = z.object({
  object: z.literal('limits'),
  /** What the account has now, and may have. */
  quotas: z.object({
    /** Provisioning or running. */
    concurrent_sandboxes: quotaSchema,
    snapshots: quotaSchema,
    snapshot_bytes: quotaSchema,
    api_keys: quotaSchema,
    /** Beyond it, the oldest output is dropped. */
    stored_output_bytes: quotaSchema,
    terminals: quotaSchema,
    streams: quotaSchema,
  }),
  per_sandbox: z.object({
    max_timeout_minutes: z.int(),
    background_commands: z.int(),
    terminals: z.int(),
    streams: z.int(),
    /** The largest file that one request reads or writes. */
    file_bytes: z.int(),
  }),
  /** Of one minute. */
  windows: z.object({
    /** With API keys. */
    requests: windowSchema,
    creations: windowSchema,
    dashboard_requests: windowSchema,
  }),
});

export type AccountLimitsInUse = z.infer<typeof limitsSchema>;

export const getLimits = dashboardOperation({
  id: 'getLimits',
  method: 'GET',
  path: '/limits',
  summary: 'Limits of the account, and how much of them is used',
  responses: { 200: limitsSchema },
  errors: [],
});
