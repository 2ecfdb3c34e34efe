import { once } from 'node:events';
import { Writable } from 'node:stream';
import { type CliIo, CommandExit, Failure } from '../cli-io.ts';

/** What a program that writes into a closed pipe ends with: 128 + SIGPIPE. */
const brokenPipeCode = 141;

/** Writes bytes to stdout and stderr, no faster than they are read. */
export class LiveOutput implements Disposable {
  readonly #io: CliIo;
  readonly #broken = new AbortController();
  readonly #onError = (error: NodeJS.ErrnoException) => {
    const isPipe = error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED';
    const failure = new Failure(`The output could not be written: ${error.message}.`, { cause: error, exitCode: 125 });
    this.#broken.abort(isPipe ? new CommandExit(brokenPipeCode) : failure);
  };

  constructor(io: CliIo) {
    this.#io = io;
    for (const stream of this.#streams()) stream.on('error', this.#onError);
  }

  /** Aborts when the output cannot be written any more, with the error to end with. That of a closed pipe has no message. */
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

  /** What breaks later, with the last bytes still under way, ends quietly too. */
  [Symbol.dispose](): void {
    for (const stream of this.#streams()) stream.off('error', this.#onError).on('error', () => {});
  }

  #streams(): Writable[] {
    return [this.#io.stdout, this.#io.stderr].filter((stream) => stream instanceof Writable);
  }
}
