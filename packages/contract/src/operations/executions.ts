import { z } from 'zod';
import {
  fieldOr,
  fitsCodePoints,
  integerField,
  integerParameter,
  optionalBody,
  parameterOr,
  quoteForMessage,
  reservedFields,
  withoutNul,
  withoutNulPattern,
} from '../fields.ts';
import { fixedLimits, type Limits, workspacePath } from '../limits.ts';
import { executionListSchema, executionSchema } from '../resources/execution.ts';
import { executionParameters, operation, sandboxParameters } from './operation.ts';

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

// Not a z.record, which drops the valid variable name `__proto__`.
const environment = z
  .custom<Record<string, string>>(isPlainObject, { error: 'env must be an object of strings', abort: true })
  .check((context) => {
    for (const [name, value] of Object.entries<unknown>(context.value)) {
      const fail = (message: string) => context.issues.push({ code: 'custom', input: value, path: [name], message });
      const shown = quoteForMessage(name);
      if (!variableName.test(name)) fail(`env name ${shown} is not a valid variable name`);
      if (typeof value !== 'string') fail(`env value of ${shown} must be a string`);
      else if (value.includes('\0')) fail(`env value of ${shown} must not contain NUL characters`);
    }
  })
  .meta({
    published: {
      type: 'object',
      propertyNames: { pattern: variableName.source },
      additionalProperties: { type: 'string', pattern: withoutNulPattern },
    },
  });

function isPlainObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** POST /sandboxes/{id}/exec */
export function runCommand(limits: Limits) {
  const commandError = `command must be a string of 1 to ${limits.commandCharacters} characters`;
  return operation({
    id: 'runCommand',
    method: 'POST',
    path: '/sandboxes/{id}/exec',
    tag: 'Executions',
    summary: 'Run a command',
    description:
      'Runs a shell command as an unprivileged user and waits for it to finish. A non-zero exit code is still a 200. Background processes that the command starts keep running.',
    params: sandboxParameters,
    body: optionalBody({
      command: withoutNul('command', z.string({ error: commandError }))
        .refine((command) => command !== '' && fitsCodePoints(command, limits.commandCharacters), {
          error: commandError,
        })
        .meta({
          minLength: 1,
          maxLength: limits.commandCharacters,
          description: 'The command line, run by bash.',
          examples: ['echo "hello from $(uname -m)"'],
        }),
      timeout_ms: fieldOr(
        integerField('timeout_ms', fixedLimits.minCommandTimeoutMs, limits.maxCommandTimeoutMs),
        limits.defaultCommandTimeoutMs,
      ).describe('The timeout in milliseconds. When it expires, the command is killed and `exit_code` is 124.'),
      cwd: fieldOr(withoutNul('cwd', z.string({ error: 'cwd must be a string' })), workspacePath).describe(
        'The working directory of the command.',
      ),
      env: fieldOr(environment, {})
        .describe("Environment variables, added to the sandbox's own.")
        .meta({ examples: [{ CI: 'true' }] }),
      ...reservedFields('stream', 'background'),
    }),
    responses: { 200: executionSchema },
    outcomes: { 200: 'The command finished, with any exit code, or timed out.' },
    errors: ['invalid_request', 'insufficient_credits', 'not_found', 'sandbox_not_running', 'execution_failed'],
  });
}

export type RunCommandBody = z.output<ReturnType<typeof runCommand>['body']>;

/** GET /executions/{id} */
export const getExecution = operation({
  id: 'getExecution',
  method: 'GET',
  path: '/executions/{id}',
  tag: 'Executions',
  summary: 'Get an execution result',
  description: 'Also works while the command is running.',
  params: executionParameters,
  responses: { 200: executionSchema },
  outcomes: { 200: 'The execution in its current state.' },
  errors: ['not_found'],
});

/** GET /sandboxes/{id}/executions */
export function listExecutions(limits: Limits) {
  return operation({
    id: 'listExecutions',
    method: 'GET',
    path: '/sandboxes/{id}/executions',
    tag: 'Executions',
    summary: 'List the executions of a sandbox',
    description:
      'Newest first, without output. To get the next page, pass `next_cursor` as `starting_after`. The executions of a deleted sandbox can be listed for as long as its record is kept.',
    params: sandboxParameters,
    query: z.object({
      limit: parameterOr(integerParameter('limit', 1, limits.maxPageSize), limits.defaultPageSize).describe(
        'The maximum number of executions per page.',
      ),
      starting_after: z
        .string({ error: 'starting_after must be the id of an execution' })
        .regex(/^exec_[a-z0-9]{1,64}$/, { error: 'starting_after must be the id of an execution' })
        .optional()
        .describe('The `next_cursor` of the previous page.'),
    }),
    responses: { 200: executionListSchema },
    outcomes: { 200: 'One page of executions.' },
    errors: ['invalid_request', 'not_found'],
  });
}

export type ListExecutionsQuery = z.output<ReturnType<typeof listExecutions>['query']>;
