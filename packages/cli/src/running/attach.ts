import type { Readable } from 'node:stream';
import { type Command, type CommandResult, ConnectionError, type SignalName } from '@mayfly/sdk';
import { type CliIo, Failure } from '../cli-io.ts';
import { type Interruption, untilAborted } from '../interruption.ts';
import { ConnectionNotice } from './connection-notice.ts';
import { LiveOutput } from './live-output.ts';
import { sendStdin } from './stdin.ts';

/** What of this machine a command in a sandbox is connected with. */
export interface LocalEnd {
  readonly io: CliIo;
  /** What the command reads. Nothing unless given. */
  readonly stdin: Readable | undefined;
  readonly interruption: Interruption;
  /** Leaves the output out. */
  readonly quiet: boolean;
}

/** How long a signal for the command may take, with its retries. */
const killMs = 10_000;

/**
 * Connects a running command with the standard streams and signals of this process until it ends, and returns how it ended. The first interruption is
 * sent to the command as a signal, the second kills it, the third leaves it. Throws the reason of the interruption or of the broken output, after the
 * command was ended.
 */
export async function attach(command: Command, { io, stdin, interruption, quiet }: LocalEnd): Promise<CommandResult> {
  using output = new LiveOutput(io);
  using notice = new ConnectionNotice(io);
  const ended = new AbortController();
  const inputFailed = new AbortController();
  const leave = AbortSignal.any([interruption.second, output.broken, inputFailed.signal]);
  const kill = (signal: SignalName) =>
    command.kill(signal, { deadlineMs: killMs, requestTimeoutMs: killMs }).catch(() => undefined);
  const passOn = () => void kill(interruption.signalName ?? 'INT');
  if (interruption.first.aborted) passOn();
  else interruption.first.addEventListener('abort', passOn, { once: true });
  const input =
    stdin &&
    sendStdin(command, stdin, AbortSignal.any([leave, ended.signal])).catch((error: unknown) =>
      inputFailed.abort(error),
    );
  const print = async () => {
    const reading = command.output({ signal: leave, onConnection: notice.onConnection });
    for (;;) {
      const step = await reading.next();
      if (step.done) {
        await output.flush();
        return step.value;
      }
      if (!quiet) await output.write(step.value.stream, step.value.bytes);
    }
  };
  try {
    return await untilAborted(leave, print());
  } catch (error) {
    if (leave.aborted) await untilAborted(interruption.third, kill(interruption.second.aborted ? 'KILL' : 'TERM'));
    throw error;
  } finally {
    interruption.first.removeEventListener('abort', passOn);
    ended.abort();
    stdin?.destroy();
    await input;
  }
}

/** Turns the error of a connection that could not be restored into one for users. `survivor` is the id of the execution if it may still be running. */
export function explainLostConnection(survivor: string | undefined): (error: unknown) => never {
  return (error) => {
    // Errors of other requests, such as the error for lost input, say what happened.
    if (!(error instanceof ConnectionError) || error.executionId === undefined) throw error;
    const advice = survivor && ` The command may still be running. Read its output with: mayfly logs -f ${survivor}`;
    const message = `The connection to the service was lost and could not be restored.${advice ?? ''}`;
    throw new Failure(message, { cause: error });
  };
}
