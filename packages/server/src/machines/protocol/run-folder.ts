import { join } from 'node:path';
import type { AgentSocketPaths } from '../../system/unix-sockets.ts';

/** The longest path of a unix socket that Linux accepts. */
export const maxSocketPathBytes = 107;

/** The folder of a data folder that holds every socket which the service may open. */
export function runFolderOf(dataDir: string): string {
  return join(dataDir, 'run');
}

/** The socket on which the host process serves the service. */
export function hostSocketPath(runDir: string): string {
  return join(runDir, 'host.sock');
}

/** The folder that contains one folder per machine, named after its id. */
export function agentsFolderOf(runDir: string): string {
  return join(runDir, 'agents');
}

/** The agent ports of a machine, as the service opens them. */
export function agentSocketsOf(runDir: string, machineId: string): AgentSocketPaths {
  const folder = join(agentsFolderOf(runDir), machineId);
  return { control: join(folder, 'control'), data: join(folder, 'data') };
}
