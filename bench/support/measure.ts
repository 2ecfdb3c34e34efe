/** The median. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

/** Measures how long the work takes, in milliseconds. Its result is returned so that it can be cleaned up outside the measurement. */
export async function timed<T>(work: () => Promise<T>): Promise<{ readonly ms: number; readonly result: T }> {
  const startedMs = performance.now();
  const result = await work();
  return { ms: performance.now() - startedMs, result };
}

/** Measures several variants in turns, so that a slow moment of the host affects all of them. Returns medians in milliseconds. */
export async function alternateAll<Name extends string>(
  rounds: number,
  ways: Readonly<Record<Name, () => Promise<number>>>,
): Promise<Record<Name, number>> {
  const names = Object.keys(ways) as Name[];
  const taken = names.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [at, name] of names.entries()) taken[at]?.push(await ways[name]());
  }
  return Object.fromEntries(names.map((name, at) => [name, median(taken[at] ?? [])])) as Record<Name, number>;
}

/** Measures two variants in turns. */
export async function alternate(
  rounds: number,
  measured: () => Promise<number>,
  baseline: () => Promise<number>,
): Promise<{ readonly measuredMs: number; readonly baselineMs: number }> {
  // The baseline runs first.
  return alternateAll(rounds, { baselineMs: baseline, measuredMs: measured });
}
