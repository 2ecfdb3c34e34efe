import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** The command lines of the QEMU processes whose machines are under a folder. */
export async function machineProcesses(folder: string): Promise<string[][]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return lines
    .filter((line) => line.includes('qemu-system') && line.includes(`${folder}/`))
    .map((line) => line.split('\0'));
}

/** The pids of the QEMU processes of a data folder, by machine id. */
export async function machinePids(dataDir: string): Promise<Map<string, number>> {
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
}

/** Sends a signal to a process. Returns false if it no longer exists. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** Kills the QEMU process of a machine, as a crash would. */
export async function killMachine(dataDir: string, machineId: string): Promise<void> {
  const pid = (await machinePids(dataDir)).get(machineId);
  if (pid === undefined) throw new Error(`machine ${machineId} has no process`);
  process.kill(pid, 'SIGKILL');
}
