import type { Stats } from '@mayfly/contract';

/** What the charts show of one measurement. */
export interface Sample {
  readonly atMs: number;
  /** Share of all processors, 0 to 100. */
  readonly cpuPercent: number;
  readonly memoryBytes: number;
  readonly memoryTotalBytes: number;
  readonly diskBytes: number;
  readonly diskTotalBytes: number;
  /** Counters, which start again with the machine and go back with a rollback. */
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly processes: number;
  readonly uptimeMs: number;
}

/** A value at a time; null where it is not known. */
export interface Point {
  readonly atMs: number;
  readonly value: number | null;
}

/** How much of the past is shown. */
export const shownMs = 5 * 60_000;
/** Measurements further apart than this have a gap between them: nobody looked, or the connection was lost. */
export const longestStepMs = 15_000;

export function sampleOf({ measured_at, cpu, memory, disk, network, processes, uptime_ms }: Stats): Sample {
  return {
    atMs: Date.parse(measured_at),
    cpuPercent: Math.min(100, cpu.percent / Math.max(1, cpu.count)),
    memoryBytes: memory.used_bytes,
    memoryTotalBytes: memory.total_bytes,
    diskBytes: disk.used_bytes,
    diskTotalBytes: disk.total_bytes,
    receivedBytes: network.received_bytes,
    sentBytes: network.sent_bytes,
    processes,
    uptimeMs: uptime_ms,
  };
}

/** Returns the samples with another one, without those that are too old to be shown. One that is not newer than the last is ignored. */
export function withSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  const last = samples.at(-1);
  if (Number.isNaN(sample.atMs) || (last && sample.atMs <= last.atMs)) return samples;
  const oldestMs = sample.atMs - shownMs;
  // One older sample stays, so that the first line begins at the edge.
  const firstShown = samples.findIndex(({ atMs }) => atMs >= oldestMs);
  return [...(firstShown === -1 ? [] : samples.slice(Math.max(0, firstShown - 1))), sample];
}

export function levels(samples: readonly Sample[], read: (sample: Sample) => number): readonly Point[] {
  return samples.map((sample) => ({ atMs: sample.atMs, value: read(sample) }));
}

/** Returns what a counter gained per second up to each sample: unknown for the first one, after a gap, and where the counter went back. */
export function rates(samples: readonly Sample[], read: (sample: Sample) => number): readonly Point[] {
  return samples.map((sample, index) => {
    const before = samples[index - 1];
    const { atMs } = sample;
    if (!before || atMs - before.atMs > longestStepMs) return { atMs, value: null };
    const gained = read(sample) - read(before);
    return { atMs, value: gained < 0 ? null : (gained * 1_000) / (atMs - before.atMs) };
  });
}

export interface Summary {
  readonly latest: number | null;
  readonly least: number;
  readonly most: number;
}

/** Returns undefined if no value is known. */
export function summarize(points: readonly Point[]): Summary | undefined {
  const values = points.flatMap(({ value }) => value ?? []);
  if (values.length === 0) return undefined;
  return { latest: points.at(-1)?.value ?? null, least: Math.min(...values), most: Math.max(...values) };
}
