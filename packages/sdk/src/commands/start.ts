import type { Execution } from '../api/resources.ts';
import { ConnectionError } from '../errors.ts';
import { orCleanUp } from '../http/cleanup.ts';
import { type Call, type Connection, path, type RequestOptions } from '../http/connection.ts';
import { type EventStream, streamOf } from '../http/event-stream.ts';
import { request, requestStream } from '../http/request.ts';
import { type CommandLine, toShell } from './command-line.ts';
import { follow, type Reading } from './follow.ts';
import type { CommandResult } from './result.ts';

/** How a command is run. */
export interface CommandOptions extends RequestOptions {
  /** The working directory. `/workspace` unless given. */
  readonly cwd?: string | undefined;
  /** Environment variables, added to those of the sandbox. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * When the command is killed, in milliseconds from its start. The service's default is a minute for `exec`, and none for `spawn`. `Infinity` means
   * none.
   */
  readonly timeoutMs?: number | undefined;
  /** Whether the command may be started again if the connection fails before it is known to have started. By default it is not. */
  readonly repeatable?: boolean | undefined;
}

export interface ExecOptions extends CommandOptions {
  /** Ends the command, and the call with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the standard output as it is printed. The command is read no faster than the promises it returns are fulfilled. */
  readonly onStdout?: ((text: string) => unknown) | undefined;
  /** Called with the standard error as it is printed. */
  readonly onStderr?: ((text: string) => unknown) | undefined;
}

export interface SpawnOptions extends CommandOptions {
  /** Whether its standard input can be written to. True unless given. */
  readonly stdin?: boolean | undefined;
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
  // Ends the reading. Until the id is known, the signal of the caller does not: without it the command could not be killed.
  const stop = new AbortController();
  const opening = requestStream(connection, call, (response) => untilStart(response, stop.signal));
  const { stream, reading } = await orCleanUp(opening, signal, async (error) => {
    const { executionId } = (await opening).reading;
    stop.abort(error);
    await Promise.all([(await opening).stream.events.return(), kill(connection, executionId)]);
  });
  let callbackFailed = false;
  const run = async () => {
    const output = follow(connection, reading, { first: stream, signal: stop.signal });
    try {
      for (;;) {
        const step = await output.next();
        if (step.done) return step.value;
        stop.signal.throwIfAborted();
        try {
          await (step.value.stream === 'stdout' ? onStdout : onStderr)?.(step.value.text);
        } catch (error) {
          callbackFailed = true;
          throw error;
        }
      }
    } finally {
      await output.return(undefined as never);
    }
  };
  return orCleanUp(run(), signal, async (error) => {
    stop.abort(error);
    // A command whose connection was lost goes on: the error says how to attach to it.
    if (callbackFailed || signal?.aborted) await kill(connection, reading.executionId);
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

/** Reads the stream of a new command up to its start, which says its id. Throws a ConnectionError if it is cut before. */
async function untilStart(response: Response, signal: AbortSignal): Promise<{ stream: EventStream; reading: Reading }> {
  const stream = streamOf(response, signal);
  try {
    for (;;) {
      const { value: event } = await stream.events.next();
      if (event === undefined) throw new ConnectionError('The stream ended.', { mayHaveHappened: true });
      if (event.event !== 'start') continue;
      const { id } = JSON.parse(event.data) as { id: string };
      return { stream, reading: { executionId: id, position: event.id, missedBytes: 0 } };
    }
  } catch (cause) {
    if (!(cause instanceof ConnectionError)) throw cause;
    const message = `The command may or may not have run: the connection was lost before it had started. ${cause.message}`;
    throw new ConnectionError(message, { cause, mayHaveHappened: true });
  }
}

async function kill(connection: Connection, executionId: string): Promise<void> {
  const body = { signal: 'KILL' };
  await request(connection, { method: 'POST', path: path`/executions/${executionId}/kill`, body, repeatable: true });
}
