import type { DestinationStream } from 'pino';

/** What one process may log. A busy service writes about 1 MB per second. */
export const logLimits = Object.freeze({
  bytesPerSecond: 1_048_576,
  /** Written at once after a quiet time. */
  burstBytes: 16 * 1_048_576,
  /** The part of the burst that only warnings and errors may use. */
  reservedBytes: 4 * 1_048_576,
  /** Between two lines that say how much was dropped. */
  reportMs: 1_000,
});

/** Asks pino to set `lastLevel` before each write. */
const wantsLevel: unique symbol = Symbol.for('pino.metadata');

/** pino's number for the level "warn". */
const warnLevel = 40;

/** Lines that were not written. */
export interface DroppedLines {
  readonly lines: number;
  readonly bytes: number;
}

/**
 * Passes log lines on at a bounded rate, so that nobody who causes lines can fill the disk. Drops what exceeds the rate, warnings and errors last, and
 * soon after writes one line that says how much was dropped.
 */
export class LogRate implements DestinationStream {
  readonly [wantsLevel] = true;
  /** Set by pino: the level of the line that is written next. */
  lastLevel = 0;
  readonly #output: DestinationStream;
  readonly #describe: (dropped: DroppedLines) => string;
  #leftBytes: number = logLimits.burstBytes;
  #atMs = performance.now();
  #droppedLines = 0;
  #droppedBytes = 0;

  /** `describe` returns the line that reports what was dropped. */
  constructor(output: DestinationStream, describe: (dropped: DroppedLines) => string) {
    this.#output = output;
    this.#describe = describe;
  }

  write(line: string): void {
    const nowMs = performance.now();
    const earnedBytes = ((nowMs - this.#atMs) * logLimits.bytesPerSecond) / 1_000;
    this.#leftBytes = Math.min(logLimits.burstBytes, this.#leftBytes + earnedBytes);
    this.#atMs = nowMs;
    const bytes = Buffer.byteLength(line);
    const keptBytes = this.lastLevel >= warnLevel ? 0 : logLimits.reservedBytes;
    if (this.#leftBytes - bytes < keptBytes) this.#drop(bytes);
    else {
      this.#leftBytes -= bytes;
      this.#output.write(line);
    }
  }

  #drop(bytes: number): void {
    if (this.#droppedLines === 0) setTimeout(() => this.#report(), logLimits.reportMs).unref();
    this.#droppedLines += 1;
    this.#droppedBytes += bytes;
  }

  /** At most one line per interval, so it is written whatever is left. */
  #report(): void {
    const line = this.#describe({ lines: this.#droppedLines, bytes: this.#droppedBytes });
    this.#droppedLines = 0;
    this.#droppedBytes = 0;
    this.#leftBytes -= Buffer.byteLength(line);
    this.#output.write(line);
  }
}
