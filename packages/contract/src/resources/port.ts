import { z } from 'zod';
import { sandboxId, timestamp } from '../fields.ts';

export const maxPort = 65_535;

const portNumber = z
  .int()
  .min(1)
  .max(maxPort)
  .meta({ description: 'The port in the sandbox.', examples: [3000] });

export const portSchema = z
  .object({
    object: z.literal('port'),
    sandbox_id: sandboxId.describe('The sandbox that the port belongs to.'),
    port: portNumber,
    url: z.url({ protocol: /^https$/ }).meta({
      description: 'The public URL of the port. It contains an unguessable token.',
      examples: ['https://k7m2q5x3vz6tnb4y.preview.example.com/'],
      pattern: '^https://',
    }),
    created_at: timestamp('When the port was exposed.', '2026-01-02T03:06:00.000Z'),
  })
  .meta({ id: 'Port', description: 'A preview: a port of a sandbox that is exposed on a public URL.' });

export type Port = z.infer<typeof portSchema>;

export const portListSchema = z
  .object({ object: z.literal('list'), data: z.array(portSchema).describe('Oldest first.') })
  .meta({ id: 'PortList', description: 'The open previews of a sandbox.' });

export type PortList = z.infer<typeof portListSchema>;

export const closedPortSchema = z
  .object({
    object: z.literal('port'),
    sandbox_id: sandboxId.describe('The sandbox that the port belongs to.'),
    port: portNumber,
    deleted: z.literal(true),
  })
  .meta({ id: 'ClosedPort', description: 'A closed preview.' });

export type ClosedPort = z.infer<typeof closedPortSchema>;
