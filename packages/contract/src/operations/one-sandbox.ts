import type { z } from 'zod';
import { fieldOr, integerField, optionalBody } from '../fields.ts';
import type { Limits } from '../limits.ts';
import { deletedSandboxSchema, sandboxSchema } from '../resources/sandbox.ts';
import { sandboxParameters } from './id-parameters.ts';
import { operation } from './operation.ts';

/** GET /sandboxes/{id} */
export const getSandbox = operation({
  id: 'getSandbox',
  method: 'GET',
  path: '/sandboxes/{id}',
  tag: 'Sandboxes',
  summary: 'Get a sandbox',
  description: 'Also when it is deleted, for as long as its record is kept.',
  params: sandboxParameters,
  responses: { 200: sandboxSchema },
  outcomes: { 200: 'The sandbox.' },
  errors: ['not_found'],
});

/** DELETE /sandboxes/{id} */
export const deleteSandbox = operation({
  id: 'deleteSandbox',
  method: 'DELETE',
  path: '/sandboxes/{id}',
  tag: 'Sandboxes',
  summary: 'Destroy a sandbox',
  description: 'Billing stops with the call. What is inside the sandbox is lost.',
  params: sandboxParameters,
  responses: { 200: deletedSandboxSchema, 202: sandboxSchema },
  outcomes: {
    200: 'The sandbox is gone.',
    202: 'The sandbox is `deleting`: its machine takes longer to go. That goes on by itself and needs no action.',
  },
  errors: ['not_found'],
});

/** POST /sandboxes/{id}/extend; the default is filled in. */
export function extendSandbox(limits: Limits) {
  return operation({
    id: 'extendSandbox',
    method: 'POST',
    path: '/sandboxes/{id}/extend',
    tag: 'Sandboxes',
    summary: 'Extend the lifetime',
    description: `Pushes the expiry out, never beyond ${limits.maxTimeoutMinutes} minutes after creation: what goes past that is cut.`,
    params: sandboxParameters,
    body: optionalBody({
      additional_minutes: fieldOr(
        integerField('additional_minutes', 1, limits.maxTimeoutMinutes),
        limits.defaultTimeoutMinutes,
      ).describe('How much longer the sandbox lives, in minutes.'),
    }),
    responses: { 200: sandboxSchema },
    outcomes: { 200: 'The sandbox with its new `expires_at`.' },
    errors: ['invalid_request', 'not_found', 'sandbox_not_running'],
  });
}

export type ExtendSandboxBody = z.output<ReturnType<typeof extendSandbox>['body']>;
