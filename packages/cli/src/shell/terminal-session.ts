import { setTimeout as pause } from 'node:timers/promises';
import { ConnectionError, InvalidApiKeyError, NotFoundError, type Sandbox, type Terminal } from '@mayfly/sdk';
import { type CliIo, CommandExit, Failure } from '../cli-io.ts';
import { hangUpCode, type Interruption, untilAborted } from '../interruption.ts';
import { LiveOutput } from '../running/live-output.ts';
import { DetachKeys } from './detach-keys.ts';
import { LocalTerminal } from './local-terminal.ts';

/** How a terminal was left: its shell exited, or it goes on. */
type Left = { readonly exitCode: number } | { readonly session: string };

interface SessionOptions {
  readonly io: CliIo;
  readonly interruption: Interruption;
  /** The terminal to join. Without it a new shell is started, which ends with this process if that is interrupted. */
  readonly session?: string | undefined;
  /** Called with a new terminal. Returns what to do with its output before it is shown. */
  readonly begin?: (terminal: Terminal) => (bytes: Uint8Array) => Uint8Array;
}

const ctrlC = 3;
/** What Ctrl-C ends this with before there is a shell to send it to. */
const interruptedCode = 130;
/** Pauses before the attempts to join a terminal again after its connection was lost. */
export const retryPausesMs = [250, 500, 1_000, 2_000, 4_000, 8_000];

/**
 * Connects the terminal of this process with one in the sandbox until its shell exits or the detach keys are typed. Joins it again after a lost connection.
 * Throws if that fails, the sandbox ends, or the process is interrupted. The local terminal is as it was afterwards.
 */
export async function useTerminal(sandbox: Sandbox, options: SessionOptions): Promise<Left> {
  const { io, interruption, begin } = options;
  using local = LocalTerminal.open(io);
  using output = new LiveOutput(io);
  const leave = new AbortController();
  const stop = AbortSignal.any([interruption.first, output.broken, leave.signal]);
  local.onEnd = () => leave.abort(new CommandExit(hangUpCode));
  // In raw mode Ctrl-C is a key, which nobody else reads until the terminal is open.
  local.onTyped = (bytes) => bytes.includes(ctrlC) && leave.abort(new CommandExit(interruptedCode));
  const open = { ...local.size, ...(options.session !== undefined && { session: options.session }) };
  let terminal = await untilAborted(stop, sandbox.terminal({ ...open, signal: stop }));
  const { session } = terminal;
  let isConnected = true;
  let isDetached = false;
  const keys = new DetachKeys({
    type: (bytes) => {
      if (isConnected) terminal.write(bytes);
      else if (bytes.includes(ctrlC)) leave.abort(new Failure('The connection to the terminal was lost.'));
    },
    detach: () => {
      isDetached = true;
      terminal.detach();
      leave.abort();
    },
  });
  local.onTyped = (bytes) => keys.push(bytes);
  local.onResize = () => {
    const { cols, rows } = local.size;
    if (isConnected && cols !== undefined && rows !== undefined) terminal.resize(cols, rows);
  };
  let show = (bytes: Uint8Array) => bytes;
  if (begin && options.session === undefined) show = begin(terminal);
  else if (options.session !== undefined) local.clear();
  try {
    for (;;) {
      try {
        await untilAborted(
          stop,
          print(terminal, async (bytes) => output.write('stdout', show(bytes))),
        );
        if (terminal.exitCode !== undefined) return { exitCode: terminal.exitCode };
        throw new ConnectionError('The connection to the terminal was closed.', { mayHaveHappened: true });
      } catch (error) {
        if (stop.aborted || !(error instanceof ConnectionError)) throw error;
        isConnected = false;
        terminal = await join(sandbox, { session, local, io, stop });
        show = (bytes) => bytes;
        isConnected = true;
        local.clear();
      }
    }
  } catch (error) {
    local.resetModes();
    if (isDetached) return { session };
    // What this process started ends with it.
    if (options.session === undefined && isConnected && stop.aborted) terminal.close();
    throw error;
  } finally {
    keys.close();
    isConnected = false;
    terminal.detach();
  }
}

/** Prints until the shell exits. Throws a ConnectionError if the connection is lost. */
async function print(terminal: Terminal, write: (bytes: Uint8Array) => Promise<void>): Promise<void> {
  for await (const bytes of terminal) await write(bytes);
}

/** Joins a terminal again. Throws a Failure if the sandbox has ended or it cannot be joined. */
async function join(
  sandbox: Sandbox,
  { session, local, io, stop }: { session: string; local: LocalTerminal; io: CliIo; stop: AbortSignal },
): Promise<Terminal> {
  io.stderr.write('\r\nThe connection was lost. Connecting again; Ctrl-C gives up.\r\n');
  let lastError: unknown;
  for (const pauseMs of retryPausesMs) {
    await pause(pauseMs, undefined, { signal: stop }).catch(() => stop.throwIfAborted());
    try {
      const { status, statusReason } = await sandbox.refresh({ signal: stop, maxRetries: 0 });
      if (status !== 'running') throw new Failure(`Sandbox ${sandbox.id} has ended (${statusReason ?? status}).`);
      return await sandbox.terminal({ ...local.size, session, signal: stop, maxRetries: 0 });
    } catch (error) {
      stop.throwIfAborted();
      if (error instanceof Failure || error instanceof NotFoundError || error instanceof InvalidApiKeyError)
        throw error;
      lastError = error;
    }
  }
  const advice = `It may still be running. Join it with: mayfly shell ${sandbox.id} --session ${session}`;
  throw new Failure(`The terminal could not be joined again. ${advice}`, { cause: lastError });
}

/** Returns the exit code of the shell. If it goes on, says how to join it and returns 0. */
export function exitCodeOf(left: Left, sandbox: Sandbox, { stderr }: CliIo): number {
  if ('exitCode' in left) return left.exitCode;
  stderr.write(`\r\nThe terminal keeps running. Join it with: mayfly shell ${sandbox.id} --session ${left.session}\n`);
  return 0;
}
