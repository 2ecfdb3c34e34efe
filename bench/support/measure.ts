/** The middle of a list of numbers. */
const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
};

/** How long something takes, in milliseconds. What it returns is handed on, to be cleaned up outside the measurement. */
export const timed = async <T>(work: () => Promise<T>): Promise<{ readonly ms: number; readonly result: T }> => {
  const startedMs = performance.now();
  const result = await work();
  return { ms: performance.now() - startedMs, result };
};

/** Two ways of doing a thing, measured in turns so that a slow moment of the machine hits both; medians in milliseconds. */
export const inTurns = async (
  rounds: number,
  measured: () => Promise<number>,
  yardstick: () => Promise<number>,
): Promise<{ readonly measuredMs: number; readonly yardstickMs: number }> => {
  const taken: { measured: number[]; yardstick: number[] } = { measured: [], yardstick: [] };
  for (let round = 0; round < rounds; round += 1) {
    taken.yardstick.push(await yardstick());
    taken.measured.push(await measured());
  }
  return { measuredMs: median(taken.measured), yardstickMs: median(taken.yardstick) };
};
