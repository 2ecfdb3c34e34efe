import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type ServicePlan, serviceFolders } from '../../src/confinement/spec.ts';
import { findUser, serviceUserName } from '../../src/confinement/system-user.ts';

/** A user id that no host uses, for hosts without the service's user. */
const unusedId = 2_100_200;

const checkout = fileURLToPath(new URL('../../../..', import.meta.url)).replace(/\/$/, '');

/** A data folder as a set-up of two processes has it, in a temporary folder that everybody may enter. */
export async function confinedFolders() {
  const base = await mkdtemp(join(tmpdir(), 'mayfly-confined-'));
  await chmod(base, 0o711);
  const user = (await findUser(serviceUserName)) ?? { uid: unusedId, gid: unusedId };
  const makeDataFolder = async (name: string) => {
    const dataDir = join(base, name);
    const { serviceDir, runDir } = serviceFolders(dataDir);
    for (const folder of [dataDir, serviceDir, runDir]) await mkdir(folder);
    await chmod(dataDir, 0o711);
    await chmod(serviceDir, 0o700);
    await chown(serviceDir, user.uid, user.gid);
    await chmod(runDir, 0o710);
    await chown(runDir, 0, user.gid);
    return { dataDir, serviceDir, runDir };
  };
  const folders = await makeDataFolder('data');
  /** The plan of a service that runs a script with these settings. */
  const plan = (argv: readonly string[], env: NodeJS.ProcessEnv = {}): ServicePlan => ({
    arch: process.arch === 'x64' ? 'x64' : 'arm64',
    user: { uid: user.uid, gid: user.gid },
    nodePath: process.execPath,
    argv,
    checkout,
    serviceDir: folders.serviceDir,
    runDir: folders.runDir,
    cgroupProcs: [],
    env,
  });
  return {
    base,
    user,
    ...folders,
    makeDataFolder,
    plan,
    [Symbol.asyncDispose]: () => rm(base, { recursive: true }),
  };
}

export type ConfinedFolders = Awaited<ReturnType<typeof confinedFolders>>;

/** The process id, on the host, of the program that mayfly-jail confines. */
export function confinedPid(parent: ChildProcess): number {
  return Number(readFileSync(`/proc/${parent.pid}/task/${parent.pid}/children`, 'utf8').trim());
}

/** The fields of /proc/PID/status of every thread of a process. A thread that ends meanwhile is left out. */
export function threadStatuses(pid: number): Record<string, string>[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    try {
      const lines = readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8').split('\n');
      return [Object.fromEntries(lines.map((line) => line.split(/:\s*/, 2)) as [string, string][])];
    } catch (error) {
      if (['ENOENT', 'ESRCH'].includes(String((error as NodeJS.ErrnoException).code))) return [];
      throw error;
    }
  });
}

/** The lines that a process prints, one by one. Ends with the process. */
export function linesOf(child: ChildProcess): AsyncIterator<string> {
  if (child.stdout === null) throw new Error('its output is not a pipe');
  return createInterface({ input: child.stdout })[Symbol.asyncIterator]();
}

/** Waits for the end of a process and returns its exit code. */
export async function exitCodeOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}
