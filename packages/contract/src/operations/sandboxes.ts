import { z } from 'zod';
import {
  booleanParameter,
  cursorParameter,
  fieldOr,
  integerField,
  integerParameter,
  optionalBody,
  parameterOr,
  queryWithReserved,
  reservedFields,
  textField,
} from '../fields.ts';
import { fixedLimits, type Limits } from '../limits.ts';
import { deletedSandboxSchema, sandboxListSchema, sandboxSchema } from '../resources/sandbox.ts';
import { sizeNames } from '../sizes.ts';
import { idempotencyHeaders, operation, sandboxParameters } from './operation.ts';

const { nameCharacters } = fixedLimits;

/** POST /sandboxes */
export function createSandbox(limits: Limits) {
  return operation({
    id: 'createSandbox',
    method: 'POST',
    path: '/sandboxes',
    tag: 'Sandboxes',
    summary: 'Create a sandbox',
    description:
      'Returns once the sandbox is ready to accept commands. That usually takes about a second, but a machine that has to be built takes longer, so use a timeout of several minutes. To retry safely, send the same `Idempotency-Key` again: a create that already succeeded is not repeated.',
    headers: idempotencyHeaders('Identifies this create. Repeating it with the same key returns the original sandbox.'),
    body: optionalBody({
      // Null means the size of the snapshot, or small without one.
      size: fieldOr(z.enum(sizeNames, { error: `size must be one of ${sizeNames.join(', ')}` }), null)
        .describe('The size of the machine. A copy of a snapshot has its size; any other is refused.')
        .meta({ default: 'small' }),
      name: fieldOr(
        textField('name', nameCharacters).transform((name) => name.toWellFormed()),
        null,
      )
        .describe('A label of your choice.')
        .meta({ examples: ['nightly build'] }),
      // Null means the default, which is lower for an account whose maximum lifetime is shorter.
      timeout_minutes: fieldOr(integerField('timeout_minutes', 1, limits.maxTimeoutMinutes), null)
        .describe('The lifetime in minutes. After that the sandbox is destroyed.')
        .meta({ default: limits.defaultTimeoutMinutes }),
      snapshot_id: fieldOr(textField('snapshot_id', nameCharacters), null)
        .describe(
          'Makes the sandbox a copy of this snapshot: its memory, processes and files, with an identity of its own. Not together with `template`.',
        )
        .meta({ examples: [null] }),
      template: fieldOr(textField('template', nameCharacters), null)
        .describe('The alias of the snapshot to copy. Not together with `snapshot_id`.')
        .meta({ examples: [null] }),
      ...reservedFields('network', 'metadata', 'env', 'idle_pause_minutes'),
    }),
    responses: { 200: sandboxSchema, 201: sandboxSchema },
    outcomes: {
      200: 'The sandbox that an earlier create with the same `Idempotency-Key` returned.',
      201: 'The new sandbox, with status `running`.',
    },
    location: 'The URL of the sandbox.',
    errors: [
      'invalid_request',
      'not_found',
      'insufficient_credits',
      'quota_exceeded',
      'provisioning_failed',
      'capacity_unavailable',
    ],
  });
}

export type CreateSandboxBody = z.output<ReturnType<typeof createSandbox>['body']>;

/** GET /sandboxes; the cursor is parsed into unix milliseconds. */
export function listSandboxes(limits: Limits) {
  return operation({
    id: 'listSandboxes',
    method: 'GET',
    path: '/sandboxes',
    tag: 'Sandboxes',
    summary: 'List sandboxes',
    description:
      'Newest first. Deleted sandboxes are excluded unless `include_deleted` is true. To get the next page, pass `next_cursor` as `starting_after`.',
    query: queryWithReserved(
      {
        limit: parameterOr(integerParameter('limit', 1, limits.maxPageSize), limits.defaultPageSize).describe(
          'The maximum number of sandboxes per page.',
        ),
        starting_after: cursorParameter(),
        include_deleted: parameterOr(booleanParameter('include_deleted'), false).describe(
          'Whether to include deleted sandboxes.',
        ),
      },
      'metadata',
    ),
    responses: { 200: sandboxListSchema },
    outcomes: { 200: 'One page of sandboxes.' },
    errors: ['invalid_request'],
  });
}

export type ListSandboxesQuery = z.output<ReturnType<typeof listSandboxes>['query']>;

/** GET /sandboxes/{id} */
export const getSandbox = operation({
  id: 'getSandbox',
  method: 'GET',
  path: '/sandboxes/{id}',
  tag: 'Sandboxes',
  summary: 'Get a sandbox',
  description: 'A deleted sandbox can be retrieved for as long as its record is kept.',
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
  description: 'Stops billing immediately. All data in the sandbox is lost.',
  params: sandboxParameters,
  responses: { 200: deletedSandboxSchema, 202: sandboxSchema },
  outcomes: {
    200: 'The sandbox is deleted.',
    202: 'The sandbox is `deleting`: the teardown of its machine continues in the background and needs no action.',
  },
  errors: ['not_found'],
});

/** POST /sandboxes/{id}/extend */
export function extendSandbox(limits: Limits) {
  return operation({
    id: 'extendSandbox',
    method: 'POST',
    path: '/sandboxes/{id}/extend',
    tag: 'Sandboxes',
    summary: 'Extend the lifetime',
    description: `Moves \`expires_at\` later, but never past ${limits.maxTimeoutMinutes} minutes after creation. A longer extension is clamped.`,
    params: sandboxParameters,
    body: optionalBody({
      additional_minutes: fieldOr(
        integerField('additional_minutes', 1, limits.maxTimeoutMinutes),
        limits.defaultTimeoutMinutes,
      ).describe('The number of minutes to add.'),
    }),
    responses: { 200: sandboxSchema },
    outcomes: { 200: 'The sandbox with its new `expires_at`.' },
    errors: ['invalid_request', 'not_found', 'sandbox_not_running'],
  });
}

export type ExtendSandboxBody = z.output<ReturnType<typeof extendSandbox>['body']>;
