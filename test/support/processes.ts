import { readdir, readFile } from 'node:fs/promises';

/** The command lines of the QEMU processes whose machines lie under a folder. */
export const machineProcesses = async (folder: string): Promise<string[][]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return lines
    .filter((line) => line.includes('qemu-system') && line.includes(`${folder}/`))
    .map((line) => line.split('\0'));
};
