import type { Readable } from 'node:stream';
import type { Command, CommandResult, SignalName } from '@mayfly/sdk';
import type { CliIo } from '../cli-io.ts';
import type { Interruption } from './interruption.ts';
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
 * sent to the command as a signal, the second kills it. Throws the reason of the interruption or of the broken output, after the command was ended.
 */
export async function attach(command: Command, { io, stdin, interruption, quiet }: LocalEnd): Promise<CommandResult> {
  using output = new LiveOutput(io);
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
  try {
    return await untilAborted(leave, async () => {
      const reading = command.output({ signal: leave });
      for (;;) {
        const step = await reading.next();
        if (step.done) return step.value;
        if (!quiet) await output.write(step.value.stream, step.value.bytes);
      }
    });
  } catch (error) {
    if (leave.aborted) await kill(interruption.second.aborted ? 'KILL' : 'TERM');
    throw error;
  } finally {
    interruption.first.removeEventListener('abort', passOn);
    ended.abort();
    stdin?.destroy();
    await input;
  }
}

/** Waits for work, or throws the reason of the signal as soon as it aborts, also if the work itself hangs. */
async function untilAborted<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
