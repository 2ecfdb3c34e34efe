import { z } from 'zod';
import { integerParameter, ticketParameter } from '../fields.ts';
import { fixedLimits } from '../limits.ts';
import { operation, sandboxParameters } from './operation.ts';

const { terminalCols, terminalRows } = fixedLimits;

/** GET /sandboxes/{id}/pty */
export const openTerminal = operation({
  id: 'openTerminal',
  method: 'GET',
  path: '/sandboxes/{id}/pty',
  tag: 'Terminals',
  summary: 'Open a terminal',
  description: [
    'A WebSocket to a login shell on a terminal. Without `session` a new shell is started; with it, the client joins a terminal that is running and is shown its screen.',
    '',
    'Binary messages are what is typed and what is printed. Text messages are JSON. The service sends `{"type":"ready","session","cols","rows"}` first, `{"type":"resize","cols","rows"}` when the size changes, and `{"type":"exit","exit_code"}` before it closes the connection because the shell has exited. A client sends `{"type":"resize","cols","rows"}`, or `{"type":"close"}` to hang up. A connection that closes without `exit` was lost: the terminal goes on, and can be joined again.',
  ].join('\n'),
  params: sandboxParameters,
  query: z.object({
    cols: integerParameter('cols', 1, terminalCols)
      .optional()
      .describe('The width in characters. 80 for a new terminal; a running one keeps its own.')
      .meta({ examples: [120] }),
    rows: integerParameter('rows', 1, terminalRows)
      .optional()
      .describe('The height in lines. 24 for a new terminal; a running one keeps its own.')
      .meta({ examples: [40] }),
    session: z.string({ error: 'session must be given once' }).optional().describe('The terminal to join.'),
    ticket: ticketParameter,
  }),
  responses: {},
  outcomes: { 101: 'The connection is a WebSocket from here on.' },
  acceptsTicket: true,
  errors: ['invalid_request', 'not_found', 'sandbox_not_running', 'insufficient_credits', 'execution_failed'],
});
