import { z } from 'zod';
import { listEnvelope, sandboxId, snapshotId, timestamp } from '../fields.ts';
import { sizeNames } from '../sizes.ts';

/** Commands run only while `running`. A sandbox never returns to `running` once it has left it. */
export const sandboxStatuses = ['provisioning', 'running', 'deleting', 'deleted', 'failed'] as const;

export type SandboxStatus = (typeof sandboxStatuses)[number];

const resourcesSchema = z
  .object({
    vcpu: z
      .int()
      .min(1)
      .meta({ description: 'Virtual CPUs.', examples: [2] }),
    memory_gb: z
      .int()
      .min(1)
      .meta({ description: 'Memory in GB.', examples: [4] }),
    disk_gb: z
      .int()
      .min(1)
      .meta({ description: 'Disk in GB.', examples: [40] }),
  })
  .describe('The resources of the machine, determined by its size.');

export const sandboxSchema = z
  .object({
    object: z.literal('sandbox'),
    id: sandboxId,
    name: z
      .string()
      .meta({ description: 'The label that was given at creation.', examples: ['nightly build'] })
      .nullable(),
    status: z.enum(sandboxStatuses).meta({
      description: 'Commands run only while `running`. A sandbox never returns to `running` once it has left it.',
      examples: ['running'],
    }),
    status_reason: z
      .string()
      .nullable()
      .meta({
        description:
          'The reason for the status, e.g. `expired`, `machine_died: …` or `evicted: …` (the host ran out of memory or disk). Null while the sandbox is healthy.',
        examples: [null],
      }),
    size: z.enum(sizeNames),
    resources: resourcesSchema,
    snapshot_id: snapshotId.nullable().meta({
      description:
        'The snapshot that the sandbox was copied from, even if that is deleted by now. Null if it was not created from a snapshot.',
      examples: [null],
    }),
    timeout_minutes: z
      .int()
      .min(1)
      .meta({ description: 'The lifetime in minutes, including extensions.', examples: [15] }),
    created_at: timestamp('When the sandbox was requested.', '2026-01-02T03:04:05.123Z'),
    ready_at: timestamp('When the sandbox became ready to accept commands.', '2026-01-02T03:04:05.678Z').nullable(),
    expires_at: timestamp('When the sandbox expires and is destroyed.', '2026-01-02T03:19:05.678Z').nullable(),
    ended_at: z.iso
      .datetime()
      .nullable()
      .meta({
        description:
          'When the sandbox stopped running, or when its creation failed or was cancelled; `status_reason` gives the reason. Never later than `expires_at`; nothing after it is billed. Null while the sandbox is provisioning or running.',
        examples: [null],
      }),
    deleted_at: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'When the sandbox was deleted.', examples: [null] }),
  })
  .meta({ id: 'Sandbox', description: 'A disposable virtual machine.' });

export type Sandbox = z.infer<typeof sandboxSchema>;

/** The response to a delete that finished synchronously: exactly these fields. */
export const deletedSandboxSchema = z
  .strictObject({
    object: z.literal('sandbox'),
    id: sandboxId,
    status: z.literal('deleted'),
    deleted_at: timestamp('When the sandbox was deleted.', '2026-01-02T03:10:00.000Z'),
  })
  .meta({ id: 'DeletedSandbox', description: 'A deleted sandbox.' });

export type DeletedSandbox = z.infer<typeof deletedSandboxSchema>;

/** One page of sandboxes, newest first. */
export const sandboxListSchema = listEnvelope(sandboxSchema).meta({
  id: 'SandboxList',
  description: 'One page of sandboxes.',
});

export type SandboxList = z.infer<typeof sandboxListSchema>;
