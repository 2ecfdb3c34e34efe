import { EventEmitter } from 'node:events';
import { type CliIo, usageFailure } from '../cli-io.ts';

/** What the service accepts. */
const maxCols = 500;
const maxRows = 200;

/** Undoes what programs set up on a terminal: the alternate screen, a hidden cursor, mouse and paste reports, key modes and colours. */
const resetModes = '\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1l\x1b>\x1b[0m';
/** Resets everything and clears the screen. */
const resetAll = '\x1bc';

/** The terminal of this process, in raw mode until it is disposed: every key is passed on, Ctrl-C included. */
export class LocalTerminal implements Disposable {
  onTyped: (bytes: Uint8Array) => void = () => {};
  onResize: () => void = () => {};
  /** The terminal is gone, for example because its window was closed. */
  onEnd: () => void = () => {};
  readonly #stdin: NonNullable<CliIo['stdin']>;
  readonly #stdout: CliIo['stdout'];
  readonly #listeners = {
    data: (bytes: Uint8Array) => this.onTyped(bytes),
    end: () => this.onEnd(),
    resize: () => this.onResize(),
  };

  private constructor(stdin: NonNullable<CliIo['stdin']>, stdout: CliIo['stdout']) {
    this.#stdin = stdin;
    this.#stdout = stdout;
    stdin.setRawMode?.(true);
    stdin.on('data', this.#listeners.data).on('end', this.#listeners.end).on('error', this.#listeners.end);
    if (stdout instanceof EventEmitter) stdout.on('resize', this.#listeners.resize);
  }

  /** Throws a usage failure if input or output is not a terminal. */
  static open(io: CliIo): LocalTerminal {
    requireTerminal(io);
    return new LocalTerminal(io.stdin, io.stdout);
  }

  /** The size, as far as it is known. */
  get size(): { cols?: number; rows?: number } {
    const { columns = 0, rows = 0 } = this.#stdout;
    if (columns < 1 || rows < 1) return {};
    return { cols: Math.min(columns, maxCols), rows: Math.min(rows, maxRows) };
  }

  /** Prepares for the whole screen of a terminal that is joined again. */
  clear(): void {
    this.#stdout.write(resetAll);
  }

  /** Undoes what a program that goes on has set up. */
  resetModes(): void {
    this.#stdout.write(resetModes);
  }

  [Symbol.dispose](): void {
    this.#stdin.off('data', this.#listeners.data).off('end', this.#listeners.end).off('error', this.#listeners.end);
    // A terminal that was closed cannot be put back into its mode.
    this.#stdin.on('error', () => {});
    if (this.#stdout instanceof EventEmitter) this.#stdout.off('resize', this.#listeners.resize);
    this.#stdin.setRawMode?.(false);
    this.#stdin.destroy();
  }
}

/** Throws a usage failure if input or output is not a terminal. */
export function requireTerminal(io: CliIo): asserts io is CliIo & Required<Pick<CliIo, 'stdin'>> {
  if (io.stdin?.isTTY && io.stdout.isTTY) return;
  throw usageFailure('This needs a terminal for input and output. Run commands without one with: mayfly exec');
}
