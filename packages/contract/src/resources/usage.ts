import { z } from 'zod';

/** What an account used in a number of days. */
export const usageSchema = z
  .object({
    object: z.literal('usage'),
    period_days: z
      .int()
      .min(1)
      .meta({ description: 'How many days back the summary goes.', examples: [30] }),
    balance_usd: z
      .number()
      .meta({ description: 'The balance now, whatever the period; what runs now is taken off.', examples: [98.75] }),
    spent_usd: z
      .number()
      .min(0)
      .meta({ description: 'Spent in the period.', examples: [1.25] }),
    added_usd: z.number().meta({ description: 'Credit added in the period.', examples: [100] }),
    sandboxes_created: z
      .int()
      .min(0)
      .meta({ description: 'Sandboxes created in the period.', examples: [31] }),
    runtime_minutes: z
      .int()
      .min(0)
      .meta({ description: 'Minutes that sandboxes ran in the period.', examples: [1500] }),
  })
  .meta({ id: 'Usage', description: 'What an account used in a number of days.' });

export type Usage = z.infer<typeof usageSchema>;
