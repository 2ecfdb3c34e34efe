import { z } from 'zod';
import { type ErrorType, errorTypes } from './error-table.ts';

/** The body of every error response. */
export const errorBodySchema = z
  .object({
    error: z.object({
      type: z
        .enum(errorTypes as [ErrorType, ...ErrorType[]])
        .meta({ description: 'Stable and machine-readable: branch on this one.', examples: ['not_found'] }),
      message: z.string().meta({ description: 'For people; the wording may change.', examples: ['no such sandbox'] }),
    }),
    request_id: z.string().meta({
      description: 'The id of the request in the logs of the service, as in the `X-Request-Id` header.',
      examples: ['req_5f0c9a4be1d27386c4a90b12'],
    }),
  })
  .meta({ id: 'Error', description: 'The body of every error response.' });

export type ErrorBody = z.infer<typeof errorBodySchema>;
