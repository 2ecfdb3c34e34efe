import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { signalProcess } from './machine-processes.ts';

const goneMs = 60_000;

/** The children of a process; none if it is gone. */
export function childrenOf(pid: number): number[] {
  try {
    const lists = readdirSync(`/proc/${pid}/task`).map((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8'),
    );
    return lists.join(' ').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** The command line of a process; empty if it is gone. */
export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return '';
  }
}

/** Whether a process, or a thread of it, still runs. Until its last thread has ended, a killed process keeps its files and their locks. */
function isRunning(pid: number): boolean {
  try {
    return commandOf(pid) !== '' || readdirSync(`/proc/${pid}/task`).length > 1;
  } catch {
    return false;
  }
}

/** The processes that a supervisor runs, apart from the one that holds the service's ports. The service is a child of mayfly-jail, which ends with it. */
export interface Supervised {
  readonly host: number | undefined;
  readonly service: number | undefined;
}

/** What a supervisor runs at this moment. */
export function supervisedBy(supervisorPid: number): Supervised {
  const children = childrenOf(supervisorPid);
  const host = children.find((pid) => commandOf(pid).includes('src/host-process/main.ts'));
  const confined = children.flatMap(childrenOf);
  return { host, service: confined.find((pid) => commandOf(pid).includes('src/app/main.ts')) };
}

/** Kills supervisor, host process and service at the same moment, as if the power of only these had been cut. Machines keep running. */
export async function crash(supervisor: ChildProcess): Promise<void> {
  const { pid } = supervisor;
  if (pid === undefined || supervisor.exitCode !== null || supervisor.signalCode !== null) return;
  const exited = once(supervisor, 'exit');
  // A supervisor that runs would start again what is killed.
  signalProcess(pid, 'SIGSTOP');
  const children = childrenOf(pid);
  // The children of the host process are machines, which go on.
  const jails = children.filter((child) => commandOf(child).includes(' confine '));
  const killed = [...children, ...jails.flatMap(childrenOf)];
  // One that still ran after another was killed could still answer a request.
  for (const child of killed) signalProcess(child, 'SIGSTOP');
  for (const child of killed) signalProcess(child, 'SIGKILL');
  signalProcess(pid, 'SIGKILL');
  await exited;
  // A thread that is writing to the disk ends only when that is done.
  const goneByMs = performance.now() + goneMs;
  while (killed.some(isRunning) && performance.now() < goneByMs) await pause(20);
}
