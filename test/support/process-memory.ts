import { readFile, writeFile } from 'node:fs/promises';

const mib = 1024 ** 2;

/** Returns the peak resident memory of a process since the last call, in bytes, and resets the kernel's counter. */
export async function takePeakBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  await writeFile(`/proc/${pid}/clear_refs`, '5');
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
}

/** The peak resident memory of a process in two halves of some work. Garbage counts until it is collected. */
export interface Peaks {
  /** From before the work until its middle. */
  readonly firstHalfMib: number;
  readonly secondHalfMib: number;
}

/** Measures the memory of a process during some work, which calls `atHalf` in its middle. */
export async function peaksDuring(pid: number, work: (atHalf: () => Promise<void>) => Promise<void>): Promise<Peaks> {
  let firstHalfMib = Number.NaN;
  await work(async () => {
    firstHalfMib = (await takePeakBytes(pid)) / mib;
  });
  return { firstHalfMib, secondHalfMib: (await takePeakBytes(pid)) / mib };
}
