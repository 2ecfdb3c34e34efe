/** How many days the chart shows. */
export const periods = [7, 30, 90] as const;

export type Period = (typeof periods)[number];

/** What the bars are. */
export const measures = ['cost', 'runtime'] as const;

export type Measure = (typeof measures)[number];

/** The part of the address that says what the chart shows. */
export interface UsageSearch {
  readonly days?: Exclude<Period, 30>;
  readonly show?: Exclude<Measure, 'cost'>;
}

/** Reads the address. What it cannot mean is as if it were not there. */
export function readUsageSearch({ days, show }: Record<string, unknown>): UsageSearch {
  return searchFor(
    periods.find((period) => period === Number(days)) ?? 30,
    measures.find((measure) => measure === show) ?? 'cost',
  );
}

/** The address for a choice. */
export function searchFor(days: Period, show: Measure): UsageSearch {
  return { ...(days !== 30 && { days }), ...(show !== 'cost' && { show }) };
}
