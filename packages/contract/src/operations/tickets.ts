import { fixedLimits } from '../limits.ts';
import { ticketSchema } from '../resources/ticket.ts';
import { operation } from './operation.ts';

/** POST /tickets */
export const createTicket = operation({
  id: 'createTicket',
  method: 'POST',
  path: '/tickets',
  tag: 'Account',
  summary: 'Create a ticket for a browser',
  description: `Browsers send no \`Authorization\` header with an EventSource or a WebSocket. A ticket takes the place of the key there, as the query parameter \`ticket\` of the operations that have it. It works once, within ${fixedLimits.ticketSeconds} seconds, and only as long as the key that created it.`,
  responses: { 201: ticketSchema },
  outcomes: { 201: 'The ticket.' },
  errors: [],
});
