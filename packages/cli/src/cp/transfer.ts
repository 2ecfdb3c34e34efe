import { formatBytes } from '@mayfly/contract';
import type { Command, Sandbox } from '@mayfly/sdk';
import { type CliIo, Failure } from '../cli-io.ts';
import { printable } from '../output.ts';

const keptMessageCharacters = 4096;
const progressMs = 200;

/** What a copy needs besides its ends. */
export interface Transfer {
  readonly sandbox: Sandbox;
  /** Aborts when the copy is interrupted. */
  readonly stop: AbortSignal;
  readonly progress: TransferProgress;
  /** Says that something was left out. */
  readonly notice: (message: string) => void;
}

/** What a copy wrote. */
export interface Copied {
  /** How many files, without folders and links. */
  readonly files: number;
  /** The size of their contents. */
  readonly bytes: number;
}

/** Runs a bash script in the sandbox. It is killed if the work fails or does not wait for its end. */
export async function withScript<Result>(
  { sandbox, stop }: Transfer,
  script: string,
  args: readonly string[],
  work: (command: Command) => Promise<Result>,
): Promise<Result> {
  const command = await sandbox.spawn(['bash', '-c', script, 'mayfly-cp', ...args], { signal: stop });
  try {
    return await work(command);
  } catch (error) {
    await command.kill('KILL', { deadlineMs: 10_000 }).catch(() => undefined);
    throw error;
  }
}

/** What a script prints, until it ends. Throws a Failure that begins with `failure` and ends with the reason if it fails. */
export async function* outputOf(
  command: Command,
  stop: AbortSignal,
  failure: string,
): AsyncGenerator<Uint8Array, void> {
  const reading = command.output({ signal: stop });
  let said = '';
  for (;;) {
    const step = await reading.next();
    if (!step.done) {
      if (step.value.stream === 'stdout') yield step.value.bytes;
      else said = (said + step.value.text).slice(-keptMessageCharacters);
      continue;
    }
    const { exitCode, missedBytes } = step.value;
    if (exitCode !== 0) throw new Failure(`${failure}: ${reasonOf(said, exitCode)}.`);
    if (missedBytes > 0) throw new Failure(`${failure}: ${missedBytes} bytes were lost on the way. Try again.`);
    return;
  }
}

/** The first thing that the script complained about. What follows is mostly its consequence. */
function reasonOf(said: string, exitCode: number): string {
  const [first = ''] = said.split('\n').filter((line) => line.trim() !== '');
  return first === ''
    ? `exit code ${exitCode}`
    : printable(first)
        .replace(/^mayfly-cp: line \d+: /, '')
        .replace(/\.$/, '');
}

/** Shows on stderr how much was copied, if that is a terminal. */
export class TransferProgress implements Disposable {
  readonly #stderr: CliIo['stderr'];
  readonly #startedAtMs = performance.now();
  #shownAtMs = 0;
  #bytes = 0;

  constructor({ stderr }: CliIo) {
    this.#stderr = stderr;
  }

  /** How much was copied. */
  get bytes(): number {
    return this.#bytes;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    const nowMs = performance.now();
    if (!this.#stderr.isTTY || nowMs - this.#shownAtMs < progressMs) return;
    this.#shownAtMs = nowMs;
    const perSecond = (this.#bytes / Math.max(nowMs - this.#startedAtMs, 1)) * 1000;
    this.#stderr.write(`\r\x1b[2K${formatBytes(this.#bytes)}, ${formatBytes(perSecond)}/s`);
  }

  [Symbol.dispose](): void {
    if (this.#shownAtMs > 0) this.#stderr.write('\r\x1b[2K');
  }
}

/** Counts what passes. */
export async function* counted<Bytes extends Uint8Array>(
  chunks: AsyncIterable<Bytes>,
  progress: TransferProgress,
): AsyncGenerator<Bytes> {
  for await (const chunk of chunks) {
    progress.add(chunk.length);
    yield chunk;
  }
}

/** A failed operation on this machine as one line. Returns Failures and other errors as they are. */
export function localFailure(what: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return error;
  const reasons: Record<string, string> = {
    EACCES: 'permission denied',
    EEXIST: 'something else is there',
    EISDIR: 'it is a folder',
    ENOENT: 'it does not exist, or its folder does not',
    ENOSPC: 'the disk is full',
    ENOTDIR: 'a part of its path is not a folder',
    EROFS: 'the file system is read-only',
  };
  const code = String(error.code);
  return new Failure(`${what}: ${reasons[code] ?? code}.`, { cause: error });
}
