import { rename, rm } from 'node:fs/promises';
import { errorCode } from '../jail/cgroups.ts';
import { linkRestoreFiles, type RestoreFiles } from './restore-files.ts';

/**
 * Replaces the links to the memory that was saved last in the folder of a machine. A crash leaves the old ones, the new ones or none, never a part: without
 * them, the next save compares with what the machine was launched from.
 */
export async function replaceLastSaved(files: RestoreFiles, folder: string): Promise<void> {
  await rm(`${folder}.new`, { recursive: true, force: true });
  await linkRestoreFiles({ ...files, diskPaths: [] }, `${folder}.new`);
  await forgetLastSaved(folder);
  await rename(`${folder}.new`, folder);
}

/** Removes the links, if there are any. */
export async function forgetLastSaved(folder: string): Promise<void> {
  await rm(`${folder}.old`, { recursive: true, force: true });
  await rename(folder, `${folder}.old`).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
  });
  await rm(`${folder}.old`, { recursive: true, force: true });
}

/** Removes what an interrupted replacement left. */
export async function cleanUpLastSaved(folder: string): Promise<void> {
  for (const name of ['new', 'old']) await rm(`${folder}.${name}`, { recursive: true, force: true });
}
