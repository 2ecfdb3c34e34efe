import { z } from 'zod';
import { executionId, sandboxId } from './ids.ts';
import { timestamp } from './timestamp.ts';

/** The states of an execution: `failed` means it could not be started or was lost. */
export const executionStatuses = ['running', 'completed', 'timeout', 'failed'] as const;

export type ExecutionStatus = (typeof executionStatuses)[number];

/** A command that ran, or runs, in a sandbox. */
export const executionSchema = z
  .object({
    object: z.literal('execution'),
    id: executionId,
    sandbox_id: sandboxId.describe('Where it ran.'),
    status: z.enum(executionStatuses).meta({
      description: '`completed` with any exit code; `failed` if it could not be started or was lost.',
      examples: ['completed'],
    }),
    exit_code: z
      .int()
      .min(0)
      .max(255)
      .meta({
        description: '124 when the timeout of the command expired, 128 + signal when a signal killed it.',
        examples: [0],
      })
      .nullable(),
    stdout: z.string().meta({
      description: 'What it wrote, up to the capture limit. Bytes that are not UTF-8 show as U+FFFD.',
      examples: ['hello from x86_64\n'],
    }),
    stderr: z.string().meta({ description: 'As `stdout`.', examples: [''] }),
    truncated: z
      .boolean()
      .meta({ description: 'Whether a stream went past the capture limit and was cut.', examples: [false] }),
    oom_killed: z.boolean().meta({
      description: 'Whether the sandbox ran out of memory and a process of the command was killed for it.',
      examples: [false],
    }),
    duration_ms: z
      .int()
      .min(0)
      .meta({ description: 'How long it took, in milliseconds.', examples: [42] })
      .nullable(),
    started_at: timestamp('When it was accepted.', '2026-01-02T03:05:00.000Z').nullable(),
    finished_at: timestamp('When it ended.', '2026-01-02T03:05:00.042Z').nullable(),
  })
  .meta({ id: 'Execution', description: 'A command that ran, or runs, in a sandbox.' });

export type Execution = z.infer<typeof executionSchema>;

/** An execution in a list: everything but its output. */
const executionSummarySchema = executionSchema
  .omit({ stdout: true, stderr: true })
  .meta({ id: 'ExecutionSummary', description: 'An execution without its output.' });

/** One page of executions, newest first. */
export const executionListSchema = z
  .object({
    object: z.literal('list'),
    data: z.array(executionSummarySchema).describe('Newest first.'),
    has_more: z.boolean().meta({ description: 'Whether there is a next page.', examples: [false] }),
    next_cursor: z
      .string()
      .nullable()
      .meta({ description: 'Pass it as `starting_after`; null on the last page.', examples: [null] }),
  })
  .meta({ id: 'ExecutionList', description: 'One page of executions.' });

export type ExecutionSummary = z.infer<typeof executionSummarySchema>;
export type ExecutionList = z.infer<typeof executionListSchema>;
