import { z } from 'zod';
import {
  fieldOr,
  fitsCodePoints,
  integerField,
  integerParameter,
  isAnyObject,
  isBase64,
  optionalBody,
  parameterOr,
  quoteForMessage,
  ticketParameter,
  withoutNul,
  withoutNulPattern,
} from '../fields.ts';
import { fixedLimits, type Limits, workspacePath } from '../limits.ts';
import {
  executionListSchema,
  executionSchema,
  executionStatuses,
  executionSummarySchema,
  stdinWriteSchema,
} from '../resources/execution.ts';
import { type EventStream, executionParameters, operation, sandboxParameters } from './operation.ts';

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
      'Runs a shell command as an unprivileged user and waits for it to finish. A non-zero exit code is still a 200. Background processes that the command starts keep running. With `stream` the output is sent while it is printed, with `background` the call returns at once.',
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
      timeout_ms: integerField('timeout_ms', fixedLimits.minCommandTimeoutMs, limits.maxCommandTimeoutMs)
        .nullish()
        .transform((given) => given ?? null)
        .describe(
          `The timeout in milliseconds. When it expires, the command is killed and \`exit_code\` is 124. The default is ${limits.defaultCommandTimeoutMs}; a background command has none unless one is given.`,
        )
        .meta({ examples: [limits.defaultCommandTimeoutMs] }),
      cwd: fieldOr(withoutNul('cwd', z.string({ error: 'cwd must be a string' })), workspacePath).describe(
        'The working directory of the command.',
      ),
      env: fieldOr(environment, {})
        .describe("Environment variables, added to the sandbox's own.")
        .meta({ examples: [{ CI: 'true' }] }),
      stream: flag('stream', 'Whether to send the output as server-sent events while it is printed.'),
      background: flag('background', 'Whether to return at once and let the command go on.'),
      stdin: z
        .boolean({ error: 'stdin must be true or false' })
        .nullish()
        .transform((given) => given ?? null)
        .describe(
          'Whether the standard input can be written to. The default is true for a background command and false for others. Needs `stream` or `background`.',
        ),
    }).refine(({ stdin, stream, background }) => stdin !== true || stream || background, {
      error: 'stdin must be false unless stream or background is true',
    }),
    responses: { 200: executionSchema, 202: executionSchema },
    outcomes: {
      200: 'The command finished, with any exit code, or timed out. With `stream`: a `text/event-stream` with the events of `GET /executions/{id}/stream`.',
      202: 'With `background`: the command is running.',
    },
    eventsWhen: '`stream` is true',
    location: 'The URL of the execution.',
    errors: ['invalid_request', 'insufficient_credits', 'not_found', 'sandbox_not_running', 'execution_failed'],
  });
}

function flag(name: string, description: string) {
  return fieldOr(z.boolean({ error: `${name} must be true or false` }), false).describe(description);
}

export type RunCommandBody = z.output<ReturnType<typeof runCommand>['body']>;

/** Signals by name, as `kill -l` lists them, for the two architectures that sandboxes run on. */
export const signalNumbers = Object.freeze({
  HUP: 1,
  INT: 2,
  QUIT: 3,
  KILL: 9,
  USR1: 10,
  USR2: 12,
  TERM: 15,
  CONT: 18,
  STOP: 19,
  TSTP: 20,
  WINCH: 28,
});

export type SignalName = keyof typeof signalNumbers;

const signalNames = Object.keys(signalNumbers) as [SignalName, ...SignalName[]];

const executionEvents: EventStream = {
  description:
    'Server-sent events: `start` (`{id}`), `stdout` and `stderr` (`{data, encoding?}`), `gap` (`{bytes}`), and `exit` with the Execution, which is the last one.',
  example: [
    'id: 0\nevent: start\ndata: {"id":"exec_q2m7rk4t5x3vb6ynz7pahcdw"}',
    'id: 18\nevent: stdout\ndata: {"data":"hello from x86_64\\n"}',
    'id: exit\nevent: exit\ndata: {"object":"execution","id":"exec_q2m7rk4t5x3vb6ynz7pahcdw","status":"completed"}',
    '',
  ].join('\n\n'),
};

/** GET /executions/{id}/stream */
export const streamExecution = operation({
  id: 'streamExecution',
  method: 'GET',
  path: '/executions/{id}/stream',
  tag: 'Executions',
  summary: 'Stream the output of an execution',
  description:
    'From the beginning, or after the event in `Last-Event-ID`. Works while the command runs and after it ended, and for any number of readers, each at its own pace. A command that was started with neither `stream` nor `background` delivers its output when it ends.',
  params: executionParameters,
  query: z.object({ ticket: ticketParameter }),
  acceptsTicket: true,
  headers: z.looseObject({
    'last-event-id': z
      .string()
      .regex(/^(?:\d{1,15}|exit)$/, { error: 'Last-Event-ID must be the id of an event of this stream' })
      .optional()
      .describe('The `id` of the last event that was received.')
      .meta({ examples: ['18'] }),
  }),
  responses: {},
  outcomes: { 200: 'The events of the execution.', 204: 'The event `exit` was received: there is nothing more.' },
  events: executionEvents,
  errors: ['invalid_request', 'not_found', 'execution_failed'],
});

/** POST /executions/{id}/stdin */
export const writeStdin = operation({
  id: 'writeStdin',
  method: 'POST',
  path: '/executions/{id}/stdin',
  tag: 'Executions',
  summary: 'Write to the standard input of a command',
  description:
    'Accepted as a whole or not at all, and passed on in the order of the calls. Waits a few seconds while the command has 1 MiB to read, then answers 429: nothing was accepted.',
  params: executionParameters,
  body: optionalBody({
    data: fieldOr(z.string({ error: 'data must be a string' }), '')
      .describe('The bytes to write, as text or in base64.')
      .meta({ examples: ['yes\n'] }),
    encoding: fieldOr(z.enum(['utf8', 'base64'], { error: 'encoding must be utf8 or base64' }), 'utf8').describe(
      'How `data` is encoded.',
    ),
    close: flag('close', 'Whether to close the standard input afterwards.'),
  })
    .refine((body) => body.encoding !== 'base64' || typeof body.data !== 'string' || isBase64(body.data), {
      error: 'data must be base64 with padding and without white space',
      when: isAnyObject,
    })
    .refine((body) => body.encoding === 'base64' || typeof body.data !== 'string' || body.data.isWellFormed(), {
      error: 'data must be valid Unicode',
      when: isAnyObject,
    }),
  responses: { 200: stdinWriteSchema },
  outcomes: { 200: 'The bytes were accepted.' },
  errors: ['invalid_request', 'not_found', 'sandbox_not_running', 'execution_not_running', 'execution_failed'],
});

/** POST /executions/{id}/kill */
export const killExecution = operation({
  id: 'killExecution',
  method: 'POST',
  path: '/executions/{id}/kill',
  tag: 'Executions',
  summary: 'Send a signal to a command',
  description:
    'To all of its processes, those in the background included. The command decides how to react, except to `KILL`, so it may still be running when the call returns. If the signal ends it, `exit_code` is 128 + the number of the signal.',
  params: executionParameters,
  body: optionalBody({
    signal: fieldOr(
      z
        .string({ error: signalError() })
        .transform((name) => name.replace(/^SIG/, ''))
        .pipe(z.enum(signalNames, { error: signalError() }))
        .meta({ published: { type: 'string', enum: signalNames } }),
      'TERM',
    ).describe('The name of the signal, with or without `SIG`.'),
  }),
  responses: { 200: executionSummarySchema },
  outcomes: { 200: 'The signal was sent. The execution in its current state, without its output.' },
  errors: ['invalid_request', 'not_found', 'sandbox_not_running', 'execution_not_running', 'execution_failed'],
});

function signalError(): string {
  return `signal must be one of ${signalNames.join(', ')}`;
}

export type KillExecutionBody = z.output<typeof killExecution.body>;

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
      status: z
        .enum(executionStatuses, { error: `status must be one of ${executionStatuses.join(', ')}` })
        .optional()
        .describe('Only executions with this status.'),
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
