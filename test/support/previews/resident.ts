import { readFile, writeFile } from 'node:fs/promises';

const mib = 1024 ** 2;

/** The highest mark of a process's memory since the last look, in MiB; the kernel then forgets it. */
const takePeakMib = async (pid: number): Promise<number> => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  await writeFile(`/proc/${pid}/clear_refs`, '5');
  return (Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) * 1024) / mib;
};

/** What a process held at its worst moment, in MiB. */
export interface Peaks {
  /** Before anything happened, and in the first half of what happened. */
  readonly firstMib: number;
  readonly secondMib: number;
}

/** A process's memory while something happens that tells when half of it is done. Garbage counts, too, until it is collected. */
export const peaksDuring = async (pid: number, work: (half: () => Promise<void>) => Promise<void>): Promise<Peaks> => {
  let firstMib = Number.NaN;
  await work(async () => {
    firstMib = await takePeakMib(pid);
  });
  return { firstMib, secondMib: await takePeakMib(pid) };
};
