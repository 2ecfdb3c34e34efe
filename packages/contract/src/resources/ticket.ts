import { z } from 'zod';
import { timestamp } from '../fields.ts';

/** What a browser sends in place of a key. */
export const ticketSchema = z
  .object({
    object: z.literal('ticket'),
    ticket: z.string().meta({
      description: 'Pass it as the query parameter `ticket`. Secret until it is used.',
      examples: ['tkt_Zt3cVq0yH8m1Xo5sKf7uBw2nLr9aDe4gJi6pTxQkMvY'],
    }),
    expires_at: timestamp('When it stops working if it was not used.', '2026-01-02T03:05:05.000Z'),
  })
  .meta({ id: 'Ticket', description: 'Takes the place of the API key in one request of a browser.' });

export type Ticket = z.infer<typeof ticketSchema>;
