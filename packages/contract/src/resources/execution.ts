import { z } from 'zod';
import { executionId, listEnvelope, sandboxId, timestamp } from '../fields.ts';

/** `failed` means that the command could not be started or that its result was lost. */
export const executionStatuses = ['running', 'completed', 'timeout', 'failed'] as const;

export type ExecutionStatus = (typeof executionStatuses)[number];

export const executionSchema = z
  .object({
    object: z.literal('execution'),
    id: executionId,
    sandbox_id: sandboxId.describe('The sandbox that the command runs in.'),
    status: z.enum(executionStatuses).meta({
      description:
        '`completed` for any exit code. `failed` if the command could not be started or its result was lost.',
      examples: ['completed'],
    }),
    exit_code: z
      .int()
      .min(0)
      .max(255)
      .meta({
        description: '124 when the command timed out; 128 + signal number when a signal killed it.',
        examples: [0],
      })
      .nullable(),
    stdout: z.string().meta({
      description: 'Standard output, captured up to the limit. Bytes that are not UTF-8 are replaced by U+FFFD.',
      examples: ['hello from x86_64\n'],
    }),
    stderr: z.string().meta({ description: 'Standard error, captured like `stdout`.', examples: [''] }),
    truncated: z.boolean().meta({
      description: 'Whether output is missing: a stream exceeded the capture limit, or the stored output was dropped.',
      examples: [false],
    }),
    output_dropped: z.boolean().meta({
      description:
        'Whether the stored output was dropped because newer output needed the room. `stdout` and `stderr` are empty then.',
      examples: [false],
    }),
    oom_killed: z.boolean().meta({
      description: 'Whether a process of the command was killed because the sandbox ran out of memory.',
      examples: [false],
    }),
    duration_ms: z
      .int()
      .min(0)
      .meta({ description: 'The duration in milliseconds.', examples: [42] })
      .nullable(),
    started_at: timestamp('When the command was accepted.', '2026-01-02T03:05:00.000Z').nullable(),
    finished_at: timestamp('When the command finished.', '2026-01-02T03:05:00.042Z').nullable(),
  })
  .meta({ id: 'Execution', description: 'A command that was run in a sandbox.' });

export type Execution = z.infer<typeof executionSchema>;

export const executionSummarySchema = executionSchema
  .omit({ stdout: true, stderr: true })
  .meta({ id: 'ExecutionSummary', description: 'An execution without its output.' });

/** One page of executions, newest first. */
export const executionListSchema = listEnvelope(executionSummarySchema).meta({
  id: 'ExecutionList',
  description: 'One page of executions.',
});

export type ExecutionSummary = z.infer<typeof executionSummarySchema>;
export type ExecutionList = z.infer<typeof executionListSchema>;

/** Bytes that were accepted for the standard input of a command. */
export const stdinWriteSchema = z
  .object({
    object: z.literal('stdin_write'),
    execution_id: executionId,
    bytes: z
      .int()
      .min(0)
      .meta({ description: 'How many bytes were accepted.', examples: [4] }),
    closed: z.boolean().meta({ description: 'Whether the standard input is closed after them.', examples: [false] }),
  })
  .meta({ id: 'StdinWrite', description: 'Bytes that were accepted for the standard input of a command.' });

export type StdinWrite = z.infer<typeof stdinWriteSchema>;
