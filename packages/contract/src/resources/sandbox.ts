import { z } from 'zod';
import { sizeNames } from '../sizes.ts';

/** The states of a sandbox. Commands run only while `running`; it never comes back to it. */
export const sandboxStatuses = ['provisioning', 'running', 'deleting', 'deleted', 'failed'] as const;

export type SandboxStatus = (typeof sandboxStatuses)[number];

/** A sandbox as the interface shows it. */
export const sandboxSchema = z.object({
  object: z.literal('sandbox'),
  id: z.string(),
  name: z.string().nullable(),
  status: z.enum(sandboxStatuses),
  /** Why it is in its status, e.g. `expired` or `machine_died: …`; null while all is well. Beyond the specification. */
  status_reason: z.string().nullable(),
  size: z.enum(sizeNames),
  resources: z.object({ vcpu: z.int(), memory_gb: z.int(), disk_gb: z.int() }),
  timeout_minutes: z.int(),
  created_at: z.iso.datetime(),
  ready_at: z.iso.datetime().nullable(),
  expires_at: z.iso.datetime().nullable(),
  deleted_at: z.iso.datetime().nullable(),
});

export type Sandbox = z.infer<typeof sandboxSchema>;

/** What a delete that finished at once answers; exactly these fields. */
export const deletedSandboxSchema = z.strictObject({
  object: z.literal('sandbox'),
  id: z.string(),
  status: z.literal('deleted'),
  deleted_at: z.iso.datetime(),
});

export type DeletedSandbox = z.infer<typeof deletedSandboxSchema>;

/** One page of sandboxes, newest first. */
export const sandboxListSchema = z.object({
  object: z.literal('list'),
  data: z.array(sandboxSchema),
  has_more: z.boolean(),
  /** Pass it as `starting_after`. */
  next_cursor: z.string().nullable(),
});

export type SandboxList = z.infer<typeof sandboxListSchema>;
