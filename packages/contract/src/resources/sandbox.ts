import { z } from 'zod';
import { sizeNames } from '../sizes.ts';
import { sandboxId } from './ids.ts';
import { timestamp } from './timestamp.ts';

/** The states of a sandbox. Commands run only while `running`; it never comes back to it. */
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
  .describe('What the machine has, by its size.');

/** A sandbox as the interface shows it. */
export const sandboxSchema = z
  .object({
    object: z.literal('sandbox'),
    id: sandboxId,
    name: z
      .string()
      .meta({ description: 'The label given at creation.', examples: ['nightly build'] })
      .nullable(),
    status: z.enum(sandboxStatuses).meta({
      description: 'Commands run only while it is `running`, and it never comes back to that.',
      examples: ['running'],
    }),
    status_reason: z
      .string()
      .nullable()
      .meta({
        description: 'Why it is in its status, e.g. `expired` or `machine_died: …`; null while all is well.',
        examples: [null],
      }),
    size: z.enum(sizeNames),
    resources: resourcesSchema,
    timeout_minutes: z
      .int()
      .min(1)
      .meta({ description: 'The lifetime in minutes, extensions included.', examples: [15] }),
    created_at: timestamp('When it was asked for.', '2026-01-02T03:04:05.123Z'),
    ready_at: timestamp('Since when it takes commands.', '2026-01-02T03:04:05.678Z').nullable(),
    expires_at: timestamp('When it is destroyed by itself.', '2026-01-02T03:19:05.678Z').nullable(),
    deleted_at: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'Since when it is gone.', examples: [null] }),
  })
  .meta({ id: 'Sandbox', description: 'A disposable virtual machine.' });

export type Sandbox = z.infer<typeof sandboxSchema>;

/** What a delete that finished at once answers; exactly these fields. */
export const deletedSandboxSchema = z
  .strictObject({
    object: z.literal('sandbox'),
    id: sandboxId,
    status: z.literal('deleted'),
    deleted_at: timestamp('When it was destroyed.', '2026-01-02T03:10:00.000Z'),
  })
  .meta({ id: 'DeletedSandbox', description: 'A sandbox that is gone.' });

export type DeletedSandbox = z.infer<typeof deletedSandboxSchema>;

/** One page of sandboxes, newest first. */
export const sandboxListSchema = z
  .object({
    object: z.literal('list'),
    data: z.array(sandboxSchema).describe('Newest first.'),
    has_more: z.boolean().meta({ description: 'Whether there is another page.', examples: [false] }),
    next_cursor: z
      .string()
      .nullable()
      .meta({
        description: 'Pass it as `starting_after` for the next page; null on the last one.',
        examples: [null],
      }),
  })
  .meta({ id: 'SandboxList', description: 'One page of sandboxes.' });

export type SandboxList = z.infer<typeof sandboxListSchema>;
