import { z } from 'zod';
import { sandboxId, timestamp } from '../fields.ts';

const bytes = (description: string, example: number) =>
  z
    .int()
    .min(0)
    .meta({ description, examples: [example] });

/** What a sandbox uses at one moment. */
export const statsSchema = z
  .object({
    object: z.literal('stats'),
    sandbox_id: sandboxId,
    measured_at: timestamp('When it was measured.', '2026-01-02T03:06:00.000Z'),
    cpu: z
      .object({
        count: z
          .int()
          .min(0)
          .meta({ description: 'The number of vCPUs.', examples: [2] }),
        used_ms: bytes('CPU time of all commands since the sandbox started, in milliseconds. It only grows.', 5210),
        percent: z
          .number()
          .min(0)
          .meta({
            description: 'CPU time since the previous measurement; 100 is one vCPU.',
            examples: [12.5],
          }),
      })
      .describe('The processors.'),
    memory: z
      .object({
        total_bytes: bytes('All memory.', 4_110_417_920),
        used_bytes: bytes('Not available to new programs.', 210_763_776),
      })
      .describe('The memory.'),
    disk: z
      .object({
        total_bytes: bytes('The size of the file system.', 42_193_227_776),
        used_bytes: bytes('Not available to the user.', 1_610_612_736),
      })
      .describe('The file system.'),
    network: z
      .object({
        received_bytes: bytes('Received since the sandbox started.', 73_400),
        sent_bytes: bytes('Sent since the sandbox started.', 9_120),
      })
      .describe('The network.'),
    processes: z
      .int()
      .min(0)
      .meta({ description: 'Processes and threads of all commands.', examples: [3] }),
    uptime_ms: bytes('Since its kernel started; for a copy, since the kernel of its snapshot started.', 61_250),
  })
  .meta({ id: 'Stats', description: 'What a sandbox uses, as it reports itself.' });

export type Stats = z.infer<typeof statsSchema>;
