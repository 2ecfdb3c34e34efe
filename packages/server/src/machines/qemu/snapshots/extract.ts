import { type FileHandle, open } from 'node:fs/promises';
import type { SizeName } from '@mayfly/contract';
import { machineDeadlines } from '../../../core/ports/machine-deadlines.ts';
import { HostFull } from '../../../core/ports/machine-driver.ts';
import { ramBytesOf } from './bases.ts';
import { type Extracted, noSpaceCode, parseExtracted, runRamTool, ToolFailed } from './ram-tool.ts';
import type { RestoreFiles } from './restore-files.ts';

export interface Extraction {
  /** native/ram. */
  readonly ramPath: string;
  /** What QEMU saved. */
  readonly memoryPath: string;
  readonly size: SizeName;
  /** What the machine's memory is compared with. */
  readonly parent: RestoreFiles;
  /** How many of the parent's layers of RAM the result may refer to. */
  readonly keptLayers: number;
  /** The files to write: the last layer of RAM, the plan and the state. */
  readonly files: RestoreFiles;
  /** The user of the machine. */
  readonly user: { readonly uid: number; readonly gid: number };
  readonly signal: AbortSignal;
}

/**
 * Keeps of a saved memory what differs from its parent's: a layer of RAM, its plan, and the state of the devices, all flushed to disk. The program that reads
 * what QEMU wrote runs under the user of the machine and gets nothing but open files.
 */
export async function extractMemory(extraction: Extraction): Promise<Extracted> {
  const { ramPath, memoryPath, size, parent, keptLayers, files, user, signal } = extraction;
  await using opened = new AsyncDisposableStack();
  const read = async (path: string): Promise<FileHandle> => opened.use(await open(path, 'r'));
  const write = async (path: string): Promise<FileHandle> => opened.use(await open(path, 'wx', 0o444));
  const inputs: [string, FileHandle][] = [
    ['--saved', await read(memoryPath)],
    ['--parent-state', await read(parent.statePath)],
    ['--parent-plan', await read(parent.planPath ?? '')],
  ];
  for (const path of parent.ramPaths) inputs.push(['--layer', await read(path)]);
  const outputs: [string, FileHandle][] = [
    ['--out-layer', await write(files.ramPaths.at(-1) ?? '')],
    ['--out-plan', await write(files.planPath ?? '')],
    ['--out-state', await write(files.statePath)],
  ];
  const output = await runRamTool({
    ramPath,
    command: 'extract',
    files: [...inputs, ...outputs].map(([option, { fd }]) => ({ option, fd })),
    argv: ['--ram-bytes', String(ramBytesOf(size)), '--keep', String(keptLayers)],
    user: { uid: user.uid, gid: user.gid },
    deadlineMs: machineDeadlines.save.extractMs,
    signal,
  }).catch((error: unknown) => {
    if (!(error instanceof ToolFailed) || error.code !== noSpaceCode) throw error;
    throw new HostFull('The disk became full while the memory of the machine was stored.', { cause: error });
  });
  for (const [, handle] of outputs) await handle.sync();
  return parseExtracted(output);
}
