import { readFile, writeFile } from 'node:fs/promises';

const mib = 1024 ** 2;

/** How much more memory a process held at its worst moment during something than before it, in MiB. */
export const residentGrowthMib = async (pid: number, during: () => Promise<void>): Promise<number> => {
  const read = async (field: string) => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    return (Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024) / mib;
  };
  // The kernel forgets the highest mark so far.
  await writeFile(`/proc/${pid}/clear_refs`, '5');
  const before = await read('VmRSS');
  await during();
  return (await read('VmHWM')) - before;
};
