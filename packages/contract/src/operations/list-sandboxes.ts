import { z } from 'zod';
import { booleanParameter, integerParameter, parameterOr } from '../fields.ts';
import type { Limits } from '../limits.ts';
import { sandboxListSchema } from '../resources/sandbox.ts';
import { operation } from './operation.ts';

/** GET /sandboxes; defaults are filled in, the cursor comes out as unix milliseconds. */
export function listSandboxes(limits: Limits) {
  return operation({
    id: 'listSandboxes',
    method: 'GET',
    path: '/sandboxes',
    tag: 'Sandboxes',
    summary: 'List sandboxes',
    description:
      'Newest first. Deleted sandboxes are left out unless `include_deleted` is true. For the next page pass `next_cursor` of this one as `starting_after`.',
    query: z.object({
      limit: parameterOr(integerParameter('limit', 1, limits.maxPageSize), limits.defaultPageSize).describe(
        'How many sandboxes a page has at most.',
      ),
      starting_after: z.iso
        .datetime({ offset: true, error: 'starting_after must be a date-time' })
        .transform((text) => Date.parse(text))
        .pipe(z.number({ error: 'starting_after must be a date-time' }))
        .optional()
        .describe('The cursor of the previous page.'),
      include_deleted: parameterOr(booleanParameter('include_deleted'), false).describe(
        'Whether deleted sandboxes are listed too.',
      ),
    }),
    responses: { 200: sandboxListSchema },
    outcomes: { 200: 'One page of sandboxes.' },
    errors: ['invalid_request'],
  });
}

export type ListSandboxesQuery = z.output<ReturnType<typeof listSandboxes>['query']>;
