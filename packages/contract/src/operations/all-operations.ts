import type { Limits } from '../limits.ts';
import { getAccount, getUsage } from './account.ts';
import { forkSandbox, rollbackSandbox } from './copies.ts';
import { getExecution, killExecution, listExecutions, runCommand, streamExecution, writeStdin } from './executions.ts';
import { deleteFile, readFile, writeFile } from './files.ts';
import { closePort, exposePort, listPorts } from './ports.ts';
import { createSandbox, deleteSandbox, extendSandbox, getSandbox, listSandboxes } from './sandboxes.ts';
import { createSnapshot, deleteSnapshot, getSnapshot, listSnapshots } from './snapshots.ts';
import { getStats, streamStats } from './stats.ts';
import { openTerminal } from './terminals.ts';
import { createTicket } from './tickets.ts';

/** Every API operation with the given limits, in the order of the reference. */
export function defineOperations(limits: Limits) {
  return {
    createSandbox: createSandbox(limits),
    listSandboxes: listSandboxes(limits),
    getSandbox,
    deleteSandbox,
    extendSandbox: extendSandbox(limits),
    forkSandbox: forkSandbox(limits),
    rollbackSandbox,
    getStats,
    streamStats,
    openTerminal,
    runCommand: runCommand(limits),
    getExecution,
    streamExecution,
    writeStdin,
    killExecution,
    listExecutions: listExecutions(limits),
    writeFile: writeFile(limits),
    readFile: readFile(limits),
    deleteFile,
    exposePort,
    listPorts,
    closePort,
    createSnapshot,
    listSnapshots: listSnapshots(limits),
    getSnapshot,
    deleteSnapshot,
    getUsage,
    getAccount,
    createTicket,
  } as const;
}

export type Operations = ReturnType<typeof defineOperations>;
