import type { Limits } from '../limits.ts';
import { getAccount, getUsage } from './account.ts';
import { createSandbox } from './create-sandbox.ts';
import { deleteFile, readFile, writeFile } from './files.ts';
import { listExecutions } from './list-executions.ts';
import { listSandboxes } from './list-sandboxes.ts';
import { deleteSandbox, extendSandbox, getSandbox } from './one-sandbox.ts';
import { closePort, exposePort, listPorts } from './ports.ts';
import { getExecution, runCommand } from './run-command.ts';

/** Every operation of the interface under these limits, in the order of the reference. */
export function defineOperations(limits: Limits) {
  return {
    createSandbox: createSandbox(limits),
    listSandboxes: listSandboxes(limits),
    getSandbox,
    deleteSandbox,
    extendSandbox: extendSandbox(limits),
    runCommand: runCommand(limits),
    getExecution,
    listExecutions: listExecutions(limits),
    writeFile: writeFile(limits),
    readFile: readFile(limits),
    deleteFile,
    exposePort,
    listPorts,
    closePort,
    getUsage: getUsage(limits),
    getAccount,
  } as const;
}

export type Operations = ReturnType<typeof defineOperations>;
