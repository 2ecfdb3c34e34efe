import { MayflyError } from '../api/api-error.ts';
import type { Execution } from '../api/resources.ts';
import { orCleanUp } from '../http/cleanup.ts';
import { type Call, type Connection, path, type RequestOptions } from '../http/connection.ts';
import { readEvents } from '../http/events.ts';
import { request, requestStream } from '../http/request.ts';
import { type CommandLine, toShell } from './command-line.ts';
import { follow, type Reading } from './follow.ts';
import type { CommandResult } from './result.ts';

/** How a command is run. */
export interface CommandOptions extends RequestOptions {
  /** The working directory. `/workspace` unless given. */
  readonly cwd?: string;
  /** Environment variables, added to those of the sandbox. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * When the command is killed, in milliseconds from its start. The service's default is a minute for `exec`, and none for `spawn`. `Infinity` means
   * none.
   */
  readonly timeoutMs?: number;
  /** Whether the command may be started again if the connection fails before it is known to have started. By default it is not. */
  readonly repeatable?: boolean;
}

export interface ExecOptions extends CommandOptions {
  /** Ends the command, and the call with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the standard output as it is printed. The command is read no faster than the promises it returns are fulfilled. */
  readonly onStdout?: (text: string) => unknown;
  /** Called with the standard error as it is printed. */
  readonly onStderr?: (text: string) => unknown;
}

export interface SpawnOptions extends CommandOptions {
  /** Whether its standard input can be written to. True unless given. */
  readonly stdin?: boolean;
}

/** Runs a command to its end. It is read as a stream, so that neither a proxy nor a timeout of the client can cut it. */
export async function exec(
  connection: Connection,
  sandboxId: string,
  command: CommandLine,
  options: ExecOptions,
): Promise<CommandResult> {
  const { signal, onStdout, onStderr } = options;
  const withoutLimit = options.timeoutMs === Number.POSITIVE_INFINITY;
  const mode = withoutLimit ? { stream: true, background: true, stdin: false } : { stream: true };
  const call = startCall(sandboxId, command, options, mode);
  const opening = requestStream(connection, call);
  const first = await orCleanUp(opening, signal, async () => endStarted(connection, await opening));
  const reading: Reading = { executionId: undefined, position: undefined, missedBytes: 0 };
  const output = follow(connection, reading, { first, signal });
  const run = async () => {
    for (;;) {
      const step = await output.next();
      if (step.done) return step.value;
      await (step.value.stream === 'stdout' ? onStdout : onStderr)?.(step.value.text);
    }
  };
  return orCleanUp(run(), signal, async (error) => {
    // A command whose connection was lost goes on: the error says how to attach to it.
    const goesOn = error instanceof MayflyError && !signal?.aborted;
    if (reading.executionId !== undefined && !goesOn) await kill(connection, reading.executionId);
  });
}

/** Starts a command and returns its record at once. */
export function start(
  connection: Connection,
  sandboxId: string,
  command: CommandLine,
  options: SpawnOptions,
): Promise<Execution> {
  const mode = { background: true, ...(options.stdin !== undefined && { stdin: options.stdin }) };
  const starting = request<Execution>(connection, startCall(sandboxId, command, options, mode));
  return orCleanUp(starting, options.signal, async () => kill(connection, (await starting).id));
}

function startCall(sandboxId: string, command: CommandLine, options: CommandOptions, mode: object): Call {
  const { cwd, env, timeoutMs, repeatable = false, signal, requestTimeoutMs, deadlineMs, maxRetries } = options;
  const limit = timeoutMs === undefined || timeoutMs === Number.POSITIVE_INFINITY ? {} : { timeout_ms: timeoutMs };
  const body = { command: toShell(command), ...(cwd !== undefined && { cwd }), ...(env && { env }), ...limit, ...mode };
  return {
    method: 'POST',
    path: path`/sandboxes/${sandboxId}/exec`,
    body,
    repeatable,
    finishesAttempts: true,
    signal,
    requestTimeoutMs,
    deadlineMs,
    maxRetries,
  };
}

/** Kills the command of a stream that nobody wants any more. */
async function endStarted(connection: Connection, stream: Response): Promise<void> {
  for await (const { event, data } of readEvents(stream)) {
    if (event === 'start') return await kill(connection, (JSON.parse(data) as { id: string }).id);
  }
}

async function kill(connection: Connection, executionId: string): Promise<void> {
  const body = { signal: 'KILL' };
  await request(connection, { method: 'POST', path: path`/executions/${executionId}/kill`, body, repeatable: true });
}
