import { z } from 'zod';
import { fixedLimits } from '../limits.ts';
import { dashboardOperation } from './operation.ts';

/** A shell that is running, with or without somebody who looks at it. */
const terminalSummarySchema = z.object({
  object: z.literal('terminal'),
  /** What joins it: the `session` of `GET /sandboxes/{id}/pty`. */
  id: z.string(),
});

/** The terminals that are running in a sandbox, as the sandbox itself reports them, in no particular order. */
const terminalListSchema = z.object({
  object: z.literal('list'),
  data: z.array(terminalSummarySchema),
  /** How many a sandbox may have. */
  limit: z.literal(fixedLimits.terminalsPerSandbox),
});

export type TerminalList = z.infer<typeof terminalListSchema>;

export const listTerminals = dashboardOperation({
  id: 'listTerminals',
  method: 'GET',
  path: '/sandboxes/{id}/terminals',
  summary: 'List the terminals of a sandbox',
  params: z.object({ id: z.string() }),
  responses: { 200: terminalListSchema },
  errors: ['not_found', 'sandbox_not_running', 'execution_failed'],
});
