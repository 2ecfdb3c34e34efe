import { z } from 'zod';
import { booleanParameter, integerParameter } from '../fields.ts';
import { limits } from '../limits.ts';

/** Query of GET /sandboxes, with defaults filled in. The cursor comes out as unix milliseconds. */
export const listSandboxesQuery = z.object({
  limit: integerParameter('limit', 1, limits.maxPageSize)
    .optional()
    .transform((limit) => limit ?? limits.defaultPageSize),
  starting_after: z.iso
    .datetime({ offset: true, error: 'starting_after must be a date-time' })
    .transform((text) => Date.parse(text))
    .pipe(z.number({ error: 'starting_after must be a date-time' }))
    .optional(),
  include_deleted: booleanParameter('include_deleted')
    .optional()
    .transform((include) => include ?? false),
});

export type ListSandboxesQuery = z.output<typeof listSandboxesQuery>;
