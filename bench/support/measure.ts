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

/** Several ways of doing a thing, measured in turns so that a slow moment of the machine hits all; medians in milliseconds. */
export const allInTurns = async <Name extends string>(
  rounds: number,
  ways: Readonly<Record<Name, () => Promise<number>>>,
): Promise<Record<Name, number>> => {
  const names = Object.keys(ways) as Name[];
  const taken = names.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [at, name] of names.entries()) taken[at]?.push(await ways[name]());
  }
  return Object.fromEntries(names.map((name, at) => [name, median(taken[at] ?? [])])) as Record<Name, number>;
};

/** Two ways of doing a thing in turns. */
export const inTurns = async (
  rounds: number,
  measured: () => Promise<number>,
  yardstick: () => Promise<number>,
): Promise<{ readonly measuredMs: number; readonly yardstickMs: number }> =>
  // The yardstick goes first.
  allInTurns(rounds, { yardstickMs: yardstick, measuredMs: measured });
