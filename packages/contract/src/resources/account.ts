import { z } from 'zod';
import { sizeNames } from '../sizes.ts';
import { accountId } from './ids.ts';

/** The account behind the key. */
export const accountSchema = z
  .object({
    object: z.literal('account'),
    id: accountId,
    email: z.string().meta({ description: 'Its e-mail address.', examples: ['ada@example.com'] }),
    balance_usd: z
      .number()
      .meta({ description: 'The balance now; what runs now is already taken off.', examples: [98.75] }),
    limits: z
      .object({
        concurrent_sandboxes: z
          .int()
          .meta({ description: 'Sandboxes provisioning or running at once.', examples: [20] }),
        max_timeout_minutes: z
          .int()
          .meta({ description: 'The longest lifetime of a sandbox, extensions included.', examples: [1440] }),
      })
      .describe('The limits of this account.'),
    pricing_usd_per_hour: z
      .record(z.enum(sizeNames), z.number())
      .meta({ description: 'The price of each size.', examples: [{ small: 0.05, medium: 0.1, large: 0.2 }] }),
  })
  .meta({ id: 'Account', description: 'The account behind the key.' });

export type Account = z.infer<typeof accountSchema>;
