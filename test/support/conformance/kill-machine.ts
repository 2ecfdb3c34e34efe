import { readdir, readFile } from 'node:fs/promises';

/** Kills the process of a sandbox's machine, as a crash would end it. */
export const killMachineOf = async (dataDir: string, sandboxId: string): Promise<void> => {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(names.map((name) => readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')));
  const folder = `${dataDir}/machines/${sandboxId}`;
  const pids = names.filter((_, at) => lines[at]?.includes('qemu-system') && lines[at]?.includes(folder));
  if (pids.length !== 1) throw new Error(`${pids.length} processes of ${sandboxId}`);
  process.kill(Number(pids[0]), 'SIGKILL');
};
