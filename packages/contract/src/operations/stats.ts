import { z } from 'zod';
import { integerParameter, parameterOr, ticketParameter } from '../fields.ts';
import { statsSchema } from '../resources/stats.ts';
import { operation, sandboxParameters } from './operation.ts';

/** GET /sandboxes/{id}/stats */
export const getStats = operation({
  id: 'getStats',
  method: 'GET',
  path: '/sandboxes/{id}/stats',
  tag: 'Sandboxes',
  summary: 'Get what a sandbox uses',
  description: 'Measures twice, a quarter of a second apart, to know how busy the processors are.',
  params: sandboxParameters,
  responses: { 200: statsSchema },
  outcomes: { 200: 'CPU, memory, disk, network and processes.' },
  errors: ['not_found', 'sandbox_not_running', 'execution_failed'],
});

/** GET /sandboxes/{id}/stats/stream */
export const streamStats = operation({
  id: 'streamStats',
  method: 'GET',
  path: '/sandboxes/{id}/stats/stream',
  tag: 'Sandboxes',
  summary: 'Stream what a sandbox uses',
  description: 'One event per interval, until the caller disconnects or the sandbox ends.',
  params: sandboxParameters,
  query: z.object({
    interval_seconds: parameterOr(integerParameter('interval_seconds', 1, 60), 2).describe(
      'The time between measurements, in seconds.',
    ),
    ticket: ticketParameter,
  }),
  acceptsTicket: true,
  responses: {},
  outcomes: { 200: 'The measurements.' },
  events: {
    description: 'Server-sent events: `stats` with the Stats, and `end` (`{status}`) when the sandbox has ended.',
    example: [
      'id: 1\nevent: stats\ndata: {"object":"stats","cpu":{"count":2,"used_ms":5210,"percent":12.5}}',
      'id: end\nevent: end\ndata: {"status":"deleted"}',
      '',
    ].join('\n\n'),
  },
  errors: ['invalid_request', 'not_found', 'sandbox_not_running', 'execution_failed'],
});
