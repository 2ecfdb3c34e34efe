import { z } from 'zod';
import { integerParameter, parameterOr } from '../fields.ts';
import type { Limits } from '../limits.ts';
import { executionListSchema } from '../resources/execution.ts';
import { sandboxParameters } from './id-parameters.ts';
import { operation } from './operation.ts';

/** GET /sandboxes/{id}/executions; defaults are filled in. */
export function listExecutions(limits: Limits) {
  return operation({
    id: 'listExecutions',
    method: 'GET',
    path: '/sandboxes/{id}/executions',
    tag: 'Executions',
    summary: 'List the executions of a sandbox',
    description:
      'Newest first, without output. For the next page pass `next_cursor` of this one as `starting_after`. Also when the sandbox is gone, for as long as its record is kept.',
    params: sandboxParameters,
    query: z.object({
      limit: parameterOr(integerParameter('limit', 1, limits.maxPageSize), limits.defaultPageSize).describe(
        'How many executions a page has at most.',
      ),
      starting_after: z
        .string({ error: 'starting_after must be the id of an execution' })
        .regex(/^exec_[a-z0-9]{1,64}$/, { error: 'starting_after must be the id of an execution' })
        .optional()
        .describe('The cursor of the previous page.'),
    }),
    responses: { 200: executionListSchema },
    outcomes: { 200: 'One page of executions.' },
    errors: ['invalid_request', 'not_found'],
  });
}

export type ListExecutionsQuery = z.output<ReturnType<typeof listExecutions>['query']>;
