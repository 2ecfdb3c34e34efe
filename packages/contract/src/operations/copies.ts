import { z } from 'zod';
import { fieldOr, integerField, optionalBody, textField } from '../fields.ts';
import { fixedLimits, type Limits, maxForkCount } from '../limits.ts';
import { forkListSchema } from '../resources/fork.ts';
import { sandboxSchema } from '../resources/sandbox.ts';
import { operation, sandboxParameters } from './operation.ts';

const { nameCharacters } = fixedLimits;

/** POST /sandboxes/{id}/fork */
export function forkSandbox(limits: Limits) {
  return operation({
    id: 'forkSandbox',
    method: 'POST',
    path: '/sandboxes/{id}/fork',
    tag: 'Sandboxes',
    summary: 'Fork a sandbox',
    description:
      'Makes copies of a running sandbox: its memory, processes and files at one instant, each with an identity, a lifetime and a price of its own. The sandbox is paused once, for a moment, however many copies are made, and no snapshot is kept. Each copy counts as one creation and is admitted separately, so some may be refused while others are made. If none is made, the response is the error of the first.',
    params: sandboxParameters,
    body: optionalBody({
      count: fieldOr(integerField('count', 1, maxForkCount), 1).describe('The number of copies.'),
      name: fieldOr(
        textField('name', nameCharacters).transform((name) => name.toWellFormed()),
        null,
      )
        .describe('A label of your choice, for all copies.')
        .meta({ examples: ['attempt'] }),
      // Null means the default, which is lower for an account whose maximum lifetime is shorter.
      timeout_minutes: fieldOr(integerField('timeout_minutes', 1, limits.maxTimeoutMinutes), null)
        .describe('The lifetime of the copies in minutes.')
        .meta({ default: limits.defaultTimeoutMinutes }),
    }),
    responses: { 201: forkListSchema },
    outcomes: { 201: 'A sandbox or an error for each copy; at least one is a sandbox.' },
    errors: [
      'invalid_request',
      'not_found',
      'sandbox_not_running',
      'insufficient_credits',
      'quota_exceeded',
      'provisioning_failed',
      'capacity_unavailable',
    ],
  });
}

export type ForkSandboxBody = z.output<ReturnType<typeof forkSandbox>['body']>;

/** POST /sandboxes/{id}/rollback */
export const rollbackSandbox = operation({
  id: 'rollbackSandbox',
  method: 'POST',
  path: '/sandboxes/{id}/rollback',
  tag: 'Sandboxes',
  summary: 'Roll a sandbox back',
  description:
    'Puts a running sandbox back into the state of a snapshot of itself, or of a sandbox that it was copied from, up to the instant of the copy. It keeps its id, lifetime, price and previews, and works even if the sandbox no longer answers. Commands in flight fail, and open connections through previews are cut. If the rollback fails, the sandbox goes on as it was.',
  params: sandboxParameters,
  body: z.object(
    {
      snapshot_id: textField('snapshot_id', nameCharacters).meta({
        description: 'The snapshot to return to.',
        examples: ['snap_m4t7xk2q5w3vb6ynz7pahcdr'],
      }),
    },
    { error: 'the body must be a JSON object' },
  ),
  responses: { 200: sandboxSchema },
  outcomes: { 200: 'The sandbox, in the state of the snapshot.' },
  errors: ['invalid_request', 'not_found', 'sandbox_not_running', 'provisioning_failed', 'capacity_unavailable'],
});

export type RollbackSandboxBody = z.output<(typeof rollbackSandbox)['body']>;
