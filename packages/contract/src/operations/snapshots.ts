import { z } from 'zod';
import { cursorParameter, fieldOr, integerParameter, optionalBody, parameterOr, textField } from '../fields.ts';
import { fixedLimits, type Limits } from '../limits.ts';
import { deletedSnapshotSchema, snapshotListSchema, snapshotSchema } from '../resources/snapshot.ts';
import { sizeNames } from '../sizes.ts';
import { idempotencyHeaders, operation, sandboxParameters, snapshotParameters } from './operation.ts';

const { nameCharacters, aliasCharacters } = fixedLimits;

const aliasError = `alias must be 1 to ${aliasCharacters} of a-z, 0-9, ".", "_" and "-", begin with a letter or digit, and not be ${sizeNames.join(', ')}`;

/** The alias of a snapshot. The names of the sizes are excluded, so that `template` could accept them one day. */
const aliasPattern = new RegExp(`^(?!(?:${sizeNames.join('|')})$)[a-z0-9][a-z0-9._-]{0,${aliasCharacters - 1}}$`);

/** POST /sandboxes/{id}/snapshots */
export const createSnapshot = operation({
  id: 'createSnapshot',
  method: 'POST',
  path: '/sandboxes/{id}/snapshots',
  tag: 'Snapshots',
  summary: 'Take a snapshot',
  description:
    'Saves memory and disk of a running sandbox at one instant, and returns once the snapshot is `ready`. The sandbox goes on: its processes, open files and local connections stand still for less than a second, and its status does not change. A sandbox with much memory in use can take minutes, so use a timeout of that length. To retry safely, send the same `Idempotency-Key` again.',
  params: sandboxParameters,
  headers: idempotencyHeaders(
    'Identifies this snapshot. Repeating it with the same key returns the original snapshot.',
  ),
  body: optionalBody({
    name: fieldOr(
      textField('name', nameCharacters).transform((name) => name.toWellFormed()),
      null,
    )
      .describe('A label of your choice.')
      .meta({ examples: ['after install'] }),
    alias: fieldOr(z.string({ error: aliasError }).regex(aliasPattern, { error: aliasError }), null)
      .describe('A name by which the snapshot is found, unique within the account.')
      .meta({ examples: ['web-app'] }),
  }),
  responses: { 200: snapshotSchema, 201: snapshotSchema },
  outcomes: {
    200: 'The snapshot that an earlier request with the same `Idempotency-Key` returned.',
    201: 'The new snapshot, with status `ready`.',
  },
  location: 'The URL of the snapshot.',
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

export type CreateSnapshotBody = z.output<(typeof createSnapshot)['body']>;

/** GET /snapshots; the cursor is parsed into unix milliseconds. */
export function listSnapshots(limits: Limits) {
  return operation({
    id: 'listSnapshots',
    method: 'GET',
    path: '/snapshots',
    tag: 'Snapshots',
    summary: 'List snapshots',
    description:
      'Newest first, those that are `creating` included. To get the next page, pass `next_cursor` as `starting_after`.',
    query: z.object({
      limit: parameterOr(integerParameter('limit', 1, limits.maxPageSize), limits.defaultPageSize).describe(
        'The maximum number of snapshots per page.',
      ),
      starting_after: cursorParameter(),
    }),
    responses: { 200: snapshotListSchema },
    outcomes: { 200: 'One page of snapshots.' },
    errors: ['invalid_request'],
  });
}

export type ListSnapshotsQuery = z.output<ReturnType<typeof listSnapshots>['query']>;

/** GET /snapshots/{id} */
export const getSnapshot = operation({
  id: 'getSnapshot',
  method: 'GET',
  path: '/snapshots/{id}',
  tag: 'Snapshots',
  summary: 'Get a snapshot',
  description: 'A snapshot stays until you delete it, whatever becomes of its sandbox.',
  params: snapshotParameters,
  responses: { 200: snapshotSchema },
  outcomes: { 200: 'The snapshot.' },
  errors: ['not_found'],
});

/** DELETE /snapshots/{id} */
export const deleteSnapshot = operation({
  id: 'deleteSnapshot',
  method: 'DELETE',
  path: '/snapshots/{id}',
  tag: 'Snapshots',
  summary: 'Delete a snapshot',
  description:
    'Sandboxes that were made from it keep working. If it is `creating`, the request that takes it answers 503.',
  params: snapshotParameters,
  responses: { 200: deletedSnapshotSchema },
  outcomes: { 200: 'The snapshot is deleted.' },
  errors: ['not_found'],
});
