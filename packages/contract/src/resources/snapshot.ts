import { z } from 'zod';
import { listEnvelope, sandboxId, snapshotId, timestamp } from '../fields.ts';
import { sizeNames } from '../sizes.ts';

/** Sandboxes are created only from snapshots that are `ready`. */
export const snapshotStatuses = ['creating', 'ready', 'failed'] as const;

export type SnapshotStatus = (typeof snapshotStatuses)[number];

export const snapshotSchema = z
  .object({
    object: z.literal('snapshot'),
    id: snapshotId,
    name: z
      .string()
      .nullable()
      .meta({ description: 'The label that was given at creation.', examples: ['after install'] }),
    alias: z
      .string()
      .nullable()
      .meta({
        description: 'The name by which `template` finds it; unique within the account.',
        examples: ['web-app'],
      }),
    sandbox_id: sandboxId,
    size: z.enum(sizeNames),
    status: z
      .enum(snapshotStatuses)
      .meta({ description: 'Sandboxes are created only from snapshots that are `ready`.', examples: ['ready'] }),
    bytes: z
      .int()
      .min(0)
      .meta({
        description:
          'What its files take on disk. A file that several snapshots share counts for the oldest of them, so deleting that one can make the next one larger.',
        examples: [29_147_136],
      }),
    created_at: timestamp('When the snapshot was requested.', '2026-01-02T03:05:00.123Z'),
  })
  .meta({ id: 'Snapshot', description: 'Memory and disk of a sandbox at one instant.' });

export type Snapshot = z.infer<typeof snapshotSchema>;

/** The response to a delete. */
export const deletedSnapshotSchema = z
  .object({ object: z.literal('snapshot'), id: snapshotId, deleted: z.literal(true) })
  .meta({ id: 'DeletedSnapshot', description: 'A deleted snapshot.' });

export type DeletedSnapshot = z.infer<typeof deletedSnapshotSchema>;

/** One page of snapshots, newest first. */
export const snapshotListSchema = listEnvelope(snapshotSchema).meta({
  id: 'SnapshotList',
  description: 'One page of snapshots.',
});

export type SnapshotList = z.infer<typeof snapshotListSchema>;
