import headless from '@xterm/headless';
import type { TerminalSize } from '../core/ports/screens.ts';
import { OutputFilter } from './output-filter.ts';
import { paint } from './paint.ts';
import { TrackedModes } from './tracked-modes.ts';

/** A cell takes 12 bytes, with combining characters about 200. */
const maxScrollbackCells = 100_000;
const maxScrollbackLines = 1000;

/** Larger than any real terminal. A cell of the screen costs as much as one of the scrollback. */
const maxCols = 1000;
const maxRows = 1000;

/** xterm.js repeats these as often as the parameter says, up to 2^31 times. No terminal has that many rows, columns or tab stops. */
const repeating = ['b', 'L', 'M', 'S', 'T', 'I', 'Z'];
const maxRepetitions = 500;

export const maxShownBytes = 1024 * 1024;

/** How much xterm.js is given before the cost is checked. */
const pieceBytes = 1024;

export const scrollbackLines = (cols: number) => Math.min(maxScrollbackLines, Math.floor(maxScrollbackCells / cols));

/** xterm.js has no terminal of fewer than two columns. */
const clamp = ({ cols, rows }: TerminalSize) => ({
  cols: Math.min(maxCols, Math.max(2, Math.floor(cols))),
  rows: Math.min(maxRows, Math.max(1, Math.floor(rows))),
});

/** One terminal without a display. Its output is untrusted: everything that costs more than the output is long is left out. */
export class Emulator {
  readonly #terminal: headless.Terminal;
  readonly #modes: TrackedModes;
  readonly #filter = new OutputFilter();

  constructor(size: TerminalSize) {
    const { cols, rows } = clamp(size);
    this.#terminal = new headless.Terminal({
      cols,
      rows,
      scrollback: scrollbackLines(cols),
      allowProposedApi: true,
      logLevel: 'off',
    });
    this.#modes = new TrackedModes(this.#terminal);
    for (const final of repeating) {
      this.#terminal.parser.registerCsiHandler({ final }, ([count = 1]) => Number(count) > maxRepetitions);
    }
  }

  /** Processes output. Stops as soon as `isTooExpensive` says so, which is asked after each piece. */
  write(bytes: Uint8Array, isTooExpensive: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      let written = 0;
      const writePiece = () => {
        if (written >= bytes.length || (written > 0 && isTooExpensive())) {
          resolve();
          return;
        }
        const piece = this.#filter.filter(bytes.subarray(written, written + pieceBytes));
        written += pieceBytes;
        this.#terminal.write(piece, writePiece);
      };
      writePiece();
    });
  }

  /** Call it only while nothing is being written. */
  resize(size: TerminalSize): void {
    const { cols, rows } = clamp(size);
    if (cols === this.#terminal.cols && rows === this.#terminal.rows) return;
    this.#terminal.resize(cols, rows);
    this.#terminal.options.scrollback = scrollbackLines(cols);
    this.#modes.forgetRegions();
  }

  /** Returns what `Screen.show` promises, without the scrollback if it is too long with it, and undefined if it is too long without. */
  show(): Uint8Array<ArrayBuffer> | undefined {
    return this.#showWith(maxScrollbackLines) ?? this.#showWith(0);
  }

  #showWith(scrollback: number): Uint8Array<ArrayBuffer> | undefined {
    const text = paint(this.#terminal, {
      scrollbackLines: scrollback,
      regions: this.#modes.regions,
      maxLength: maxShownBytes,
    });
    if (text === undefined) return undefined;
    const shown = Buffer.from(text + this.#modes.sequences());
    const unfinished = this.#filter.unfinished();
    if (shown.length + unfinished.length > maxShownBytes) return undefined;
    const bytes = new Uint8Array(shown.length + unfinished.length);
    bytes.set(shown);
    bytes.set(unfinished, shown.length);
    return bytes;
  }
}
