import { z } from 'zod';
import { accountId } from '../fields.ts';
import type { SizeName } from '../sizes.ts';

export const accountSchema = z
  .object({
    object: z.literal('account'),
    id: accountId,
    email: z.string().meta({ description: 'The e-mail address of the account.', examples: ['ada@example.com'] }),
    balance_usd: z.number().meta({
      description: 'The current balance, with the cost of running sandboxes and stored snapshots already deducted.',
      examples: [98.75],
    }),
    limits: z
      .object({
        concurrent_sandboxes: z
          .int()
          .meta({ description: 'The maximum number of sandboxes that are provisioning or running.', examples: [20] }),
        max_timeout_minutes: z.int().meta({
          description: 'The maximum lifetime of a sandbox in minutes, including extensions.',
          examples: [1440],
        }),
      })
      .describe('The limits of this account.'),
    pricing_usd_per_hour: z
      .object({ small: z.number(), medium: z.number(), large: z.number() } satisfies Record<SizeName, z.ZodNumber>)
      .meta({ description: 'The price per hour of each size.', examples: [{ small: 0.05, medium: 0.1, large: 0.2 }] }),
  })
  .meta({ id: 'Account', description: 'The account that the API key belongs to.' });

export type Account = z.infer<typeof accountSchema>;

export const usageSchema = z
  .object({
    object: z.literal('usage'),
    period_days: z
      .int()
      .min(1)
      .meta({ description: 'The length of the period in days.', examples: [30] }),
    balance_usd: z.number().meta({
      description:
        'The current balance, regardless of the period, with the cost of running sandboxes and stored snapshots already deducted.',
      examples: [98.75],
    }),
    spent_usd: z
      .number()
      .min(0)
      .meta({ description: 'Spending in the period.', examples: [1.25] }),
    snapshot_storage_usd: z
      .number()
      .min(0)
      .meta({ description: 'The part of `spent_usd` that stored snapshots cost.', examples: [0.05] }),
    added_usd: z.number().meta({ description: 'Credit added in the period.', examples: [100] }),
    sandboxes_created: z
      .int()
      .min(0)
      .meta({ description: 'Sandboxes created in the period.', examples: [31] }),
    runtime_minutes: z
      .int()
      .min(0)
      .meta({ description: 'Total runtime of sandboxes in the period, in minutes.', examples: [1500] }),
  })
  .meta({ id: 'Usage', description: 'Usage of an account over a period.' });

export type Usage = z.infer<typeof usageSchema>;
