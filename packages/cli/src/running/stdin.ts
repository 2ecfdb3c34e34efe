import { fstatSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { type Command, ExecutionNotRunningError, RateLimitExceededError } from '@mayfly/sdk';
import { type CliIo, CommandExit, Failure } from '../cli-io.ts';
import { hangUpCode } from '../interruption.ts';

/** What one request carries. */
export const pieceBytes = 512 * 1024;

/** What the command reads. Undefined for a terminal and for /dev/null, unless `interactive`. */
export function stdinOf({ stdin }: CliIo, interactive: boolean | undefined): Readable | undefined {
  if (stdin === undefined || interactive) return stdin;
  if (stdin.isTTY) return undefined;
  const { fd } = stdin as { fd?: unknown };
  return typeof fd === 'number' && fstatSync(fd).isCharacterDevice() ? undefined : stdin;
}

/**
 * Passes everything on to the standard input of a command, no faster than the command reads, and then closes it. Returns early if the command does not
 * read any more, or the signal aborts. Throws if bytes may have been lost.
 */
export async function sendStdin(command: Command, source: Readable, signal: AbortSignal): Promise<void> {
  try {
    for await (const piece of piecesOf(source, signal)) {
      await patiently(() => command.write(piece, { signal }), signal);
    }
    await patiently(() => command.closeStdin({ signal }), signal);
  } catch (error) {
    if (!signal.aborted && !(error instanceof ExecutionNotRunningError)) throw error;
  }
}

/** Repeats a write that was refused because the command does not read. Nothing of it was accepted. */
async function patiently(write: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof RateLimitExceededError) || signal.aborted) throw error;
    }
  }
}

/** The bytes of a stream in large pieces: what arrives while a piece is used is in the next one. Reads little ahead. */
async function* piecesOf(source: Readable, signal: AbortSignal): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let ended = false;
  let failure: NodeJS.ErrnoException | undefined;
  let wake = () => {};
  const onData = (chunk: Buffer | string) => {
    waiting.push(Buffer.from(chunk));
    waitingBytes += chunk.length;
    if (waitingBytes >= pieceBytes) source.pause();
    wake();
  };
  const onEnd = () => {
    ended = true;
    wake();
  };
  const onError = (error: NodeJS.ErrnoException) => {
    failure = error;
    wake();
  };
  const onAbort = () => wake();
  source.on('data', onData).on('end', onEnd).on('close', onEnd).on('error', onError);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for (;;) {
      signal.throwIfAborted();
      if (failure) throw reasonOf(failure);
      if (waitingBytes > 0) {
        const bytes = Buffer.concat(waiting);
        waiting = [];
        waitingBytes = 0;
        source.resume();
        for (let start = 0; start < bytes.length; start += pieceBytes) yield bytes.subarray(start, start + pieceBytes);
      } else if (ended) return;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    // The listener for errors stays: what happens to the input from here on does not matter.
    source.off('data', onData).off('end', onEnd).off('close', onEnd).pause();
    signal.removeEventListener('abort', onAbort);
  }
}

/** What to end with after this error of the input. EIO means that the terminal is gone. */
function reasonOf(error: NodeJS.ErrnoException): Error {
  if (error.code === 'EIO') return new CommandExit(hangUpCode);
  return new Failure(`Standard input could not be read: ${error.message}.`, { cause: error });
}
