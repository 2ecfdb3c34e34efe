import { z } from 'zod';
import { fieldOr, fitsCodePoints, integerField, optionalBody, withoutNul, withoutNulPattern } from '../fields.ts';
import { type Limits, workspacePath } from '../limits.ts';
import { executionSchema } from '../resources/execution.ts';
import { executionParameters, sandboxParameters } from './id-parameters.ts';
import { operation } from './operation.ts';

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

const environment = z
  .record(z.string(), z.unknown(), { error: 'env must be an object of strings' })
  .check((context) => {
    for (const [name, value] of Object.entries(context.value)) {
      const fail = (message: string) => context.issues.push({ code: 'custom', input: value, path: [name], message });
      const shown = name.length > 80 ? `${name.slice(0, 80)}…` : name;
      if (!variableName.test(name)) fail(`env name ${JSON.stringify(shown)} is not a valid variable name`);
      if (typeof value !== 'string') fail(`env value of ${JSON.stringify(shown)} must be a string`);
      else if (value.includes('\0')) fail(`env value of ${JSON.stringify(shown)} must not contain NUL characters`);
    }
  })
  .transform((env) => env as Record<string, string>)
  .meta({
    published: {
      type: 'object',
      propertyNames: { pattern: variableName.source },
      additionalProperties: { type: 'string', pattern: withoutNulPattern },
    },
  });

/** POST /sandboxes/{id}/exec; defaults are filled in. */
export function runCommand(limits: Limits) {
  const commandError = `command must be a string of 1 to ${limits.commandCharacters} characters`;
  return operation({
    id: 'runCommand',
    method: 'POST',
    path: '/sandboxes/{id}/exec',
    tag: 'Executions',
    summary: 'Run a command',
    description:
      'Runs a shell command as an unprivileged user and waits for it to finish. A non-zero exit code is a 200. What the command leaves in the background keeps running.',
    params: sandboxParameters,
    body: optionalBody({
      command: withoutNul('command', z.string({ error: commandError }))
        .refine((command) => command !== '' && fitsCodePoints(command, limits.commandCharacters), {
          error: commandError,
        })
        .meta({
          minLength: 1,
          maxLength: limits.commandCharacters,
          description: 'Run by bash.',
          examples: ['echo "hello from $(uname -m)"'],
        }),
      timeout_ms: fieldOr(
        integerField('timeout_ms', limits.minCommandTimeoutMs, limits.maxCommandTimeoutMs),
        limits.defaultCommandTimeoutMs,
      ).describe('How long the command may take, in milliseconds; then it is killed and its exit code is 124.'),
      cwd: fieldOr(withoutNul('cwd', z.string({ error: 'cwd must be a string' })), workspacePath).describe(
        'The directory the command runs in.',
      ),
      env: fieldOr(environment, {})
        .describe('Environment variables, on top of those of the sandbox.')
        .meta({ examples: [{ CI: 'true' }] }),
    }),
    responses: { 200: executionSchema },
    outcomes: { 200: 'The command has ended, with whatever exit code.' },
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
  description: 'Also while the command runs.',
  params: executionParameters,
  responses: { 200: executionSchema },
  outcomes: { 200: 'The execution as it is now.' },
  errors: ['not_found'],
});
