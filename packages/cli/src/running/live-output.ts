import { once } from 'node:events';
import { Writable } from 'node:stream';
import { type CliIo, CommandExit, Failure } from '../cli-io.ts';
import { hangUpCode } from '../interruption.ts';

/** What a program that writes into a closed pipe ends with: 128 + SIGPIPE. */
const brokenPipeCode = 141;

/** Writes bytes to stdout and stderr, no faster than they are read. */
export class LiveOutput implements Disposable {
  readonly #io: CliIo;
  readonly #broken = new AbortController();
  readonly #listeners: readonly { stream: Writable; listener: (error: NodeJS.ErrnoException) => void }[];

  constructor(io: CliIo) {
    this.#io = io;
    this.#listeners = [io.stdout, io.stderr].flatMap((stream) => {
      const { isTTY = false } = stream;
      const listener = (error: NodeJS.ErrnoException) => this.#broken.abort(reasonOf(error, isTTY));
      return stream instanceof Writable ? [{ stream, listener }] : [];
    });
    for (const { stream, listener } of this.#listeners) stream.on('error', listener);
  }

  /** Aborts when the output cannot be written any more, with the error to end with. The error of a closed pipe or terminal has no message. */
  get broken(): AbortSignal {
    return this.#broken.signal;
  }

  /** Returns when more can be written. Throws the reason of `broken`. */
  async write(name: 'stdout' | 'stderr', bytes: string | Uint8Array): Promise<void> {
    this.#broken.signal.throwIfAborted();
    const stream = this.#io[name];
    if (stream.write(bytes) !== false || !(stream instanceof Writable)) return;
    await once(stream, 'drain', { signal: this.#broken.signal }).catch(() => {});
    this.#broken.signal.throwIfAborted();
  }

  /** Returns when everything is written. Throws the reason of `broken`. */
  async flush(): Promise<void> {
    for (const { stream } of this.#listeners) {
      // Called after what was written before, or with its error, which is told to the listeners right after that.
      await new Promise<void>((resolve) => stream.write('', () => setImmediate(resolve)));
    }
    this.#broken.signal.throwIfAborted();
  }

  /** What breaks from here on ends quietly too. */
  [Symbol.dispose](): void {
    for (const { stream, listener } of this.#listeners) stream.off('error', listener).on('error', () => {});
  }
}

/** What to end with after this error of an output stream. */
function reasonOf(error: NodeJS.ErrnoException, isTerminal: boolean): Error {
  if (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED') return new CommandExit(brokenPipeCode);
  if (error.code === 'EIO' && isTerminal) return new CommandExit(hangUpCode);
  return new Failure(`The output could not be written: ${error.message}.`, { cause: error, exitCode: 125 });
}
