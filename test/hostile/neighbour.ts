/** A neighbour's command may take this many times as long as in quiet. */
export const neighbourBound = 3;

/** Other work on the host makes single figures jump: one above the bound is taken again, this often at most, before it counts. */
const mostTries = 4;

export interface Neighbour {
  readonly quietMs: number;
  readonly besideMs: number;
  readonly ratio: number;
  /** How many medians it took to find one within the bound. */
  readonly tries: number;
}

const compare = (quietMs: number, besideMs: number, tries: number): Neighbour => ({
  tries,
  quietMs: Math.round(quietMs),
  besideMs: Math.round(besideMs),
  ratio: Number((besideMs / quietMs).toFixed(2)),
});

/** How a neighbour fares beside something, against how it fared before; with `measureMs` giving a median. */
export const measureBeside = async (quietMs: number, measureMs: () => Promise<number>): Promise<Neighbour> => {
  let bestMs = Number.POSITIVE_INFINITY;
  let tries = 0;
  while (tries < mostTries && bestMs / quietMs >= neighbourBound) {
    bestMs = Math.min(bestMs, await measureMs());
    tries += 1;
  }
  return compare(quietMs, bestMs, tries);
};

/** The same once it is quiet again: a ratio over the bound is held against the slower of the two silences. */
export const inDoubt = async (found: Neighbour, measureMs: () => Promise<number>): Promise<Neighbour> =>
  found.ratio < neighbourBound
    ? found
    : compare(Math.max(found.quietMs, await measureMs()), found.besideMs, found.tries);
