import { z } from 'zod';

/** The states of an execution: `failed` means it could not be started or was lost. */
export const executionStatuses = ['running', 'completed', 'timeout', 'failed'] as const;

export type ExecutionStatus = (typeof executionStatuses)[number];

/** A command that ran, or runs, in a sandbox. */
export const executionSchema = z.object({
  object: z.literal('execution'),
  id: z.string(),
  sandbox_id: z.string(),
  status: z.enum(executionStatuses),
  /** 124 when the command's timeout expired. */
  exit_code: z.int().nullable(),
  stdout: z.string(),
  stderr: z.string(),
  truncated: z.boolean(),
  duration_ms: z.int().nullable(),
  started_at: z.iso.datetime().nullable(),
  finished_at: z.iso.datetime().nullable(),
});

export type Execution = z.infer<typeof executionSchema>;
