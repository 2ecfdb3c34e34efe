import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, rename, unlink } from 'node:fs/promises';

const newFile = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** What a file gets besides its content. */
export interface Attributes {
  /** The permission bits. */
  readonly mode: number;
  /** By default the user who runs this. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
}

/**
 * Writes a file under a temporary name beside its path, and renames it when it is complete: a copy that fails leaves what was there. A link at the path
 * is replaced, not followed. Returns how many bytes were written. Throws if there is a folder at the path.
 */
export async function replaceFile(
  path: string | Buffer,
  content: AsyncIterable<Uint8Array>,
  { mode, owner }: Attributes,
): Promise<number> {
  const target = Buffer.from(path);
  const folder = target.subarray(0, target.lastIndexOf('/') + 1);
  const temporary = Buffer.concat([folder, Buffer.from(`.mayfly-cp-${randomUUID()}`)]);
  let file: FileHandle | undefined = await open(temporary, newFile, 0o600);
  try {
    const bytes = await writeAll(file, content);
    // Only root can give a file away.
    if (owner) await file.chown(owner.uid, owner.gid).catch(() => {});
    await file.chmod(mode);
    await file.close();
    file = undefined;
    await rename(temporary, target);
    return bytes;
  } catch (error) {
    await file?.close().catch(() => {});
    await unlink(temporary).catch(() => {});
    throw error;
  }
}

/** Returns how many bytes were written. */
export async function writeAll(file: FileHandle, content: AsyncIterable<Uint8Array>): Promise<number> {
  let total = 0;
  for await (const bytes of content) {
    for (let start = 0; start < bytes.length; ) start += (await file.write(bytes, start)).bytesWritten;
    total += bytes.length;
  }
  return total;
}
