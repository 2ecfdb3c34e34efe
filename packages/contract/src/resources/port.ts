import { z } from 'zod';
import { sandboxId } from './ids.ts';
import { timestamp } from './timestamp.ts';

export const maxPort = 65_535;

const portNumber = z
  .int()
  .min(1)
  .max(maxPort)
  .meta({ description: 'The port in the sandbox.', examples: [3000] });

/** A port of a sandbox on a public URL. */
export const portSchema = z
  .object({
    object: z.literal('port'),
    sandbox_id: sandboxId.describe('Whose port it is.'),
    port: portNumber,
    url: z.url({ protocol: /^https$/ }).meta({
      description: 'Where the port is reached from outside. It contains an unguessable token.',
      examples: ['https://k7m2q5x3vz6tnb4y.preview.example.com/'],
      pattern: '^https://',
    }),
    created_at: timestamp('When it was exposed.', '2026-01-02T03:06:00.000Z'),
  })
  .meta({ id: 'Port', description: 'A port of a sandbox on a public URL: a preview.' });

export type Port = z.infer<typeof portSchema>;

/** The open previews of a sandbox, oldest first. */
export const portListSchema = z
  .object({ object: z.literal('list'), data: z.array(portSchema).describe('Oldest first.') })
  .meta({ id: 'PortList', description: 'The open previews of a sandbox.' });

export type PortList = z.infer<typeof portListSchema>;

/** What closing a preview answers. */
export const closedPortSchema = z
  .object({
    object: z.literal('port'),
    sandbox_id: sandboxId.describe('Whose port it is.'),
    port: portNumber,
    deleted: z.literal(true),
  })
  .meta({ id: 'ClosedPort', description: 'A preview that is closed.' });

export type ClosedPort = z.infer<typeof closedPortSchema>;
