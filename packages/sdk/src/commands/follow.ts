import { fromApi } from '../api/casing.ts';
import { ExecutionFailedError, errorTable } from '../api/error-classes.ts';
import type { Execution } from '../api/resources.ts';
import { ConnectionError } from '../errors.ts';
import { type Connection, path } from '../http/connection.ts';
import { readEvents, type StreamEvent } from '../http/events.ts';
import { pause, request, requestStream } from '../http/request.ts';
import { type Output, type OutputData, OutputDecoder } from './output.ts';
import { CommandResult } from './result.ts';

/** How far the output of a command has been read. */
export interface Reading {
  /** Known once the command has started. */
  executionId: string | undefined;
  /** The id of the last event, after which another reader can continue. */
  position: string | undefined;
  /** Output that was dropped before it could be read. */
  missedBytes: number;
}

/**
 * Reads the output of a command until it ends, and returns how it ended. A stream that is cut is continued where it was; a command is never started
 * again. Throws a ConnectionError if the stream cannot be continued, and an ExecutionFailedError if the command was lost.
 */
export async function* follow(
  connection: Connection,
  reading: Reading,
  options: { readonly first?: Response; readonly signal?: AbortSignal | undefined },
): AsyncGenerator<Output, CommandResult> {
  const { signal } = options;
  const decoder = new OutputDecoder();
  let response = options.first;
  for (let cuts = 0; ; ) {
    response ??= await reopen(connection, reading, signal);
    if (response.status === 204) return resultOf(await recordOf(connection, reading, signal), reading, response);
    try {
      for await (const event of readEvents(response, signal)) {
        cuts = 0;
        if (event.event === 'exit') {
          yield* decoder.end();
          reading.position = event.id;
          return resultOf(fromApi(JSON.parse(event.data)) as Execution, reading, response);
        }
        const output = take(event, reading, decoder);
        if (output !== undefined) yield output;
      }
      throw new ConnectionError('The stream ended before the command.', { mayHaveHappened: true });
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      if (reading.executionId === undefined) throw unknownStart(error);
      cuts += 1;
      if (cuts > connection.maxRetries) throw lostCommand(error, reading.executionId);
      await pause(connection.retryDelayMs * 2 ** (cuts - 1), signal);
      response = undefined;
    }
  }
}

/** Opens the stream of a command after the last event that was read. */
async function reopen(connection: Connection, reading: Reading, signal: AbortSignal | undefined): Promise<Response> {
  const { executionId = '', position } = reading;
  const headers = position === undefined ? {} : { 'last-event-id': position };
  const call = { method: 'GET', path: path`/executions/${executionId}/stream`, headers, repeatable: true } as const;
  try {
    return await requestStream(connection, { ...call, signal });
  } catch (error) {
    throw error instanceof ConnectionError ? lostCommand(error, executionId) : error;
  }
}

/** Notes an event, and returns what it prints. */
function take({ event, id, data }: StreamEvent, reading: Reading, decoder: OutputDecoder): Output | undefined {
  const fields = JSON.parse(data) as { id?: string; bytes?: number } & OutputData;
  if (event === 'start') reading.executionId ??= fields.id;
  if (event === 'gap') reading.missedBytes += fields.bytes ?? 0;
  if (id !== undefined) reading.position = id;
  return event === 'stdout' || event === 'stderr' ? decoder.decode(event, fields) : undefined;
}

/** The record of a command whose end was read already. */
function recordOf(connection: Connection, reading: Reading, signal: AbortSignal | undefined): Promise<Execution> {
  const call = { method: 'GET', path: path`/executions/${reading.executionId ?? ''}`, repeatable: true } as const;
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

function lostCommand(cause: ConnectionError, executionId: string): ConnectionError {
  const message = `The connection to execution ${executionId} was lost; the command itself goes on. ${cause.message} Attach to it with sandbox.command.`;
  return new ConnectionError(message, { cause, mayHaveHappened: true, executionId });
}

function unknownStart(cause: ConnectionError): ConnectionError {
  const message = `The command may or may not have run: the connection was lost before it had started. ${cause.message}`;
  return new ConnectionError(message, { cause, mayHaveHappened: true });
}
