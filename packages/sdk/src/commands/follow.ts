import { fromApi } from '../api/casing.ts';
import { ExecutionFailedError, errorTable } from '../api/error-classes.ts';
import type { Execution } from '../api/resources.ts';
import { ConnectionError } from '../errors.ts';
import { type Connection, path, type RequestOptions } from '../http/connection.ts';
import { type EventStream, openStream, Reconnecting } from '../http/event-stream.ts';
import type { StreamEvent } from '../http/events.ts';
import { request } from '../http/request.ts';
import { type Output, type OutputData, OutputDecoder } from './output.ts';
import { CommandResult } from './result.ts';

/** How far the output of a command has been read. */
export interface Reading {
  readonly executionId: string;
  /** The id of the last event, after which another reader can continue. */
  position: string | undefined;
  /** Output that was dropped before it could be read. */
  missedBytes: number;
}

/** How output is read. */
export interface FollowOptions {
  /** Ends the reading, not the command. */
  readonly signal?: AbortSignal | undefined;
  /** Called with false when the connection is lost, which is then restored if possible, and with true when it is back. */
  readonly onConnection?: ((isConnected: boolean) => void) | undefined;
}

/**
 * Reads the output of a command until it ends, and returns how it ended. A stream that is cut is continued where it was; a command is never started
 * again. Throws a ConnectionError if the stream cannot be continued, and an ExecutionFailedError if the command was lost.
 */
export async function* follow(
  connection: Connection,
  reading: Reading,
  options: FollowOptions & { readonly first?: EventStream },
): AsyncGenerator<Output, CommandResult> {
  const { signal } = options;
  const decoder = new OutputDecoder();
  const open = (again: RequestOptions) => openOutput(connection, reading, again);
  const lost = (cause: unknown) => lostCommand(cause, reading.executionId);
  const reconnecting = new Reconnecting(connection, { signal, open, lost });
  let stream = options.first ?? (await attach(connection, reading, signal));
  for (;;) {
    const { response } = stream;
    if (response.status === 204) return resultOf(await recordOf(connection, reading, signal), reading, response);
    let hasAdvanced = false;
    try {
      for await (const event of stream.events) {
        if (event.event === 'exit') {
          yield* decoder.end();
          reading.position = event.id;
          return resultOf(fromApi(JSON.parse(event.data)) as Execution, reading, response);
        }
        // A start that is replayed says nothing new.
        hasAdvanced ||= event.event !== 'start';
        const output = take(event, reading, decoder);
        if (output !== undefined) yield output;
      }
      throw new ConnectionError('The stream ended before the command.', { mayHaveHappened: true });
    } catch (error) {
      if (error instanceof ConnectionError) options.onConnection?.(false);
      stream = await reconnecting.reopen(stream, error, hasAdvanced);
      options.onConnection?.(true);
    }
  }
}

/** Opens the stream of a command that was started elsewhere. */
async function attach(connection: Connection, reading: Reading, signal: AbortSignal | undefined): Promise<EventStream> {
  try {
    return await openOutput(connection, reading, { signal });
  } catch (error) {
    throw error instanceof ConnectionError ? lostCommand(error, reading.executionId) : error;
  }
}

/** Opens the stream of a command after the last event that was read. */
function openOutput(connection: Connection, reading: Reading, options: RequestOptions): Promise<EventStream> {
  const { executionId, position } = reading;
  const headers = position === undefined ? {} : { 'last-event-id': position };
  const call = { method: 'GET', path: path`/executions/${executionId}/stream`, headers, repeatable: true } as const;
  return openStream(connection, { ...call, ...options });
}

/** Notes an event, and returns what it prints. */
function take({ event, id, data }: StreamEvent, reading: Reading, decoder: OutputDecoder): Output | undefined {
  const fields = JSON.parse(data) as { bytes?: number } & OutputData;
  if (event === 'gap') reading.missedBytes += fields.bytes ?? 0;
  if (id !== undefined) reading.position = id;
  return event === 'stdout' || event === 'stderr' ? decoder.decode(event, fields) : undefined;
}

/** The record of a command whose end was read already. */
function recordOf(connection: Connection, reading: Reading, signal: AbortSignal | undefined): Promise<Execution> {
  const call = { method: 'GET', path: path`/executions/${reading.executionId}`, repeatable: true } as const;
  return request(connection, { ...call, signal });
}

function resultOf(execution: Execution, reading: Reading, response: Response): CommandResult {
  if (execution.status !== 'failed') return new CommandResult(execution, reading.missedBytes);
  throw new ExecutionFailedError({
    type: 'execution_failed',
    status: 502,
    requestId: response.headers.get('x-request-id') ?? 'unknown',
    hint: errorTable.execution_failed.hint,
    message: `Execution ${execution.id} was lost: it could not be started, or its sandbox ended while it ran.`,
  });
}

function lostCommand(cause: unknown, executionId: string): ConnectionError {
  const said = cause instanceof Error ? cause.message : String(cause);
  const message = `The connection to execution ${executionId} was lost; the command itself goes on. ${said} Attach to it with sandbox.command.`;
  return new ConnectionError(message, { cause, mayHaveHappened: true, executionId });
}
