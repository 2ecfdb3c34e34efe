import { z } from 'zod';
import { type ErrorType, errorTypes } from './error-table.ts';

/** The body of every error response. */
export const errorBodySchema = z.object({
  error: z.object({
    type: z.enum(errorTypes as [ErrorType, ...ErrorType[]]),
    message: z.string(),
  }),
  request_id: z.string(),
});

export type ErrorBody = z.infer<typeof errorBodySchema>;
