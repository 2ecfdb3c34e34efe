import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** The QEMU processes of a data folder's machines, by the id of the machine. */
export const machinePids = async (dataDir: string): Promise<Map<string, number>> => {
  const folder = `${join(dataDir, 'machines')}/`;
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid): Promise<[string, number][]> => {
      const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      const argv = line.split('\0');
      if (!basename(argv[0] ?? '').startsWith('qemu-system') || !line.includes(folder)) return [];
      return [[(argv[argv.indexOf('-name') + 1] ?? '').replace(/^mayfly-/, ''), Number(pid)]];
    }),
  );
  return new Map(found.flat());
};

/** Sends a signal to a process; false if it is gone already. */
export const signalProcess = (pid: number, signal: NodeJS.Signals): boolean => {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
};
