import { open, rm } from 'node:fs/promises';
import { runCommand } from '../run-command.ts';
import { SetupError } from '../setup-error.ts';

const blockBytes = 4096;
const reservedForRootBytes = 64 * 2 ** 20;
/** Fixed, so that the same tree gives the same disk. */
const uuid = '6d617966-6c79-4000-8000-000000000000';
const hashSeed = '6d617966-6c79-4000-8000-000000000001';
const maximumFittingRounds = 6;

/** The arguments of mke2fs for a root disk on a sparse, zeroed file. */
export function mke2fsArguments(path: string, fileBytes: number, tree?: string): readonly string[] {
  const extended = [
    'assume_storage_prezeroed=1',
    'lazy_itable_init=1',
    'lazy_journal_init=1',
    'root_owner=0:0',
    `hash_seed=${hashSeed}`,
  ];
  return [
    ...['-q', '-F', '-t', 'ext4', '-b', String(blockBytes), '-L', 'mayfly', '-U', uuid],
    ...['-i', '32768', '-J', 'size=64', '-O', '^resize_inode', '-E', extended.join()],
    ...['-m', ((100 * reservedForRootBytes) / fileBytes).toFixed(5)],
    ...(tree ? ['-d', tree] : []),
    path,
  ];
}

/** Makes a sparse ext4 disk of the tree on which `df` shows exactly the visible size. */
export async function makeExt4Disk(
  path: string,
  visibleBytes: number,
  tree: string,
  signal: AbortSignal,
): Promise<void> {
  const fileBytes = await fitFileBytes(path, visibleBytes, signal);
  await makeFileSystem(path, fileBytes, signal, tree);
}

/** The size at which a file system's own tables leave exactly the visible size. */
async function fitFileBytes(path: string, visibleBytes: number, signal: AbortSignal): Promise<number> {
  let fileBytes = visibleBytes;
  for (let round = 0; round < maximumFittingRounds; round++) {
    await makeFileSystem(path, fileBytes, signal);
    const header = await runCommand('dumpe2fs', ['-h', path], { signal });
    const overheadBlocks = Number(/^Overhead clusters:\s+(\d+)$/m.exec(header)?.[1] ?? 0);
    const fittingBytes = visibleBytes + overheadBlocks * blockBytes;
    if (fittingBytes === fileBytes) return fileBytes;
    fileBytes = fittingBytes;
  }
  throw new SetupError(`no ext4 size leaves exactly ${visibleBytes} bytes visible`);
}

async function makeFileSystem(path: string, fileBytes: number, signal: AbortSignal, tree?: string): Promise<void> {
  await rm(path, { force: true });
  const file = await open(path, 'wx');
  await file.truncate(fileBytes);
  await file.close();
  const env = { ...process.env, E2FSPROGS_FAKE_TIME: '1700000000' };
  await runCommand('mke2fs', mke2fsArguments(path, fileBytes, tree), { env, signal });
}
