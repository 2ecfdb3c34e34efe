import { z } from 'zod';
import { errorBodySchema } from '../error-table.ts';
import { sandboxSchema } from './sandbox.ts';

/** What became of one copy: either a sandbox or an error. */
export const forkResultSchema = z
  .object({
    object: z.literal('fork_result'),
    sandbox: sandboxSchema.nullable().describe('The copy, with status `running`. Null if it could not be made.'),
    error: errorBodySchema.shape.error
      .nullable()
      .meta({ description: 'Why the copy could not be made. Null if it was made.', examples: [null] }),
  })
  .meta({ id: 'ForkResult', description: 'One copy of a fork: a sandbox or an error.' });

export type ForkResult = z.infer<typeof forkResultSchema>;

/** One entry per requested copy. */
export const forkListSchema = z
  .object({
    object: z.literal('list'),
    data: z.array(forkResultSchema).describe('One entry per requested copy.'),
  })
  .meta({ id: 'ForkList', description: 'The results of a fork.' });

export type ForkList = z.infer<typeof forkListSchema>;
