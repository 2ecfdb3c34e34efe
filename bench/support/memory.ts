import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const sampleMs = 5;

/** What a process held more at its worst moment than before, in MiB. */
export interface Growth {
  /** In buffers. */
  readonly buffersMib: number;
  /** As the kernel sees it; memory that was held before and given up is not counted. */
  readonly residentMib: number;
}

/** Collects garbage, so that what is measured afterwards is not somebody else's. */
const collectGarbage = (): void => {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
};

/** How this process's memory grows while something happens. Rough: garbage counts, too. */
export const peakGrowth = async (work: () => Promise<unknown>): Promise<Growth> => {
  collectGarbage();
  const before = process.memoryUsage();
  const peak = { ...before };
  const sample = (): void => {
    const now = process.memoryUsage();
    peak.arrayBuffers = Math.max(peak.arrayBuffers, now.arrayBuffers);
    peak.rss = Math.max(peak.rss, now.rss);
  };
  const sampler = setInterval(sample, sampleMs);
  try {
    await work();
  } finally {
    clearInterval(sampler);
  }
  sample();
  const mib = 1024 ** 2;
  return { buffersMib: (peak.arrayBuffers - before.arrayBuffers) / mib, residentMib: (peak.rss - before.rss) / mib };
};
