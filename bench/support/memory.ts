import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const sampleMs = 5;

/** How much more memory a process held at its peak than before, in MiB. */
export interface Growth {
  /** In buffers. */
  readonly buffersMib: number;
  /** As the kernel reports it; memory that was held before and reused is not counted. */
  readonly residentMib: number;
}

/** Collects garbage, so that earlier work does not affect the measurement. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

/** Measures how this process's memory grows during the work. Approximate: garbage counts too. */
export async function peakGrowth(work: () => Promise<unknown>): Promise<Growth> {
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
}
