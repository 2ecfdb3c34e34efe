import type { Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import type { LineSplitter } from '../../protocol/line-splitter.ts';

/** How fast lines are read. */
export interface LinePace {
  readonly bytesPerTurn: number;
  readonly linesPerTurn: number;
  /** How many lines may come at once. */
  readonly burstLines: number;
  readonly linesPerSecond: number;
  /** A longer line counts as several: so many bytes as one. */
  readonly bytesPerLine: number;
}

/** QEMU sends a few lines per second, and some hundred while it saves a machine, with up to 0.2 MiB of answers. */
const defaultPace: LinePace = {
  bytesPerTurn: 4_096,
  linesPerTurn: 32,
  burstLines: 1_000,
  linesPerSecond: 200,
  bytesPerLine: 2_048,
};

/**
 * Reads lines from a socket, a few in each turn of the event loop and at a limited rate: a QEMU that was taken over must not keep this process from other
 * work. Meanwhile the socket is not read, so what QEMU sends fills its own memory. Nothing is read after the connection was closed, and a line that is too
 * long closes it.
 */
export function readLines(
  socket: Socket,
  splitter: LineSplitter,
  onLine: (line: string) => void,
  pace: LinePace = defaultPace,
): void {
  const allowance = new Allowance(pace);
  let inTurn = 0;
  const read = async (chunk: Buffer): Promise<void> => {
    for (let from = 0; from < chunk.length; from += pace.bytesPerTurn) {
      if (from > 0) await nextTurn();
      if (socket.destroyed) return;
      for (const line of splitter.push(chunk.subarray(from, from + pace.bytesPerTurn))) {
        const waitMs = allowance.take(performance.now(), Math.ceil(Buffer.byteLength(line) / pace.bytesPerLine));
        if (waitMs > 0) await wait(waitMs, undefined, { ref: false });
        if (socket.destroyed) return;
        onLine(line);
        inTurn += 1;
        if (inTurn % pace.linesPerTurn === 0) await nextTurn();
      }
    }
  };
  socket.on('data', (chunk: Buffer) => {
    socket.pause();
    read(chunk).then(
      () => socket.resume(),
      (error: unknown) => socket.destroy(error instanceof Error ? error : new Error(String(error))),
    );
  });
}

/** A bucket of lines that fills at a steady rate. */
class Allowance {
  readonly #pace: LinePace;
  #lines: number;
  #atMs: number | undefined;

  constructor(pace: LinePace) {
    this.#pace = pace;
    this.#lines = pace.burstLines;
  }

  /** Takes one line, which counts as so many. Returns how long to wait until it may be read. */
  take(nowMs: number, count: number): number {
    const { burstLines, linesPerSecond } = this.#pace;
    const filled = ((nowMs - (this.#atMs ?? nowMs)) * linesPerSecond) / 1_000;
    this.#atMs = nowMs;
    this.#lines = Math.min(burstLines, this.#lines + filled) - Math.max(1, count);
    return this.#lines >= 0 ? 0 : (-this.#lines * 1_000) / linesPerSecond;
  }
}
