import { constants } from 'node:fs';
import { chmod, type FileHandle, lstat, mkdir, open, stat, symlink, unlink } from 'node:fs/promises';
import { type ReadEntry, readTar } from '../archive/read-tar.ts';
import { Failure } from '../cli-io.ts';
import { localFailure } from './transfer.ts';

const newFile = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Unpacks an archive that a sandbox sent into a folder, which is created with this mode unless it exists. The archive is hostile until proven otherwise:
 * nothing is written outside of the folder or through a link, and files get permission bits only. Throws a Failure if something cannot be written.
 */
export async function unpack(
  archive: AsyncIterable<Uint8Array>,
  folder: string,
  { mode, notice }: { readonly mode: number; readonly notice: (message: string) => void },
): Promise<void> {
  const unpacking = new Unpacking(folder, notice);
  await unpacking.begin(mode);
  for await (const entry of readTar(archive)) await unpacking.add(entry);
  await unpacking.end();
}

class Unpacking {
  readonly #root: string;
  readonly #notice: (message: string) => void;
  /** Folders that are known to be no links, as Latin-1 so that any bytes can be compared. */
  readonly #folders = new Set<string>();
  /** The modes of new folders, which are set at the end: a read-only folder could not be filled. */
  readonly #modes: [path: Buffer | string, mode: number][] = [];

  constructor(root: string, notice: (message: string) => void) {
    this.#root = root;
    this.#notice = notice;
  }

  async begin(mode: number): Promise<void> {
    const isNew = await mkdir(this.#root, 0o700).then(
      () => true,
      async (error: NodeJS.ErrnoException) => {
        // The user may have named a link to a folder.
        if (error.code === 'EEXIST' && (await stat(this.#root)).isDirectory()) return false;
        throw error;
      },
    );
    if (isNew) this.#modes.push([this.#root, mode]);
  }

  async add(entry: ReadEntry): Promise<void> {
    const parts = partsOf(entry.name);
    const last = parts.at(-1);
    if (last === undefined) return;
    const path = this.#path(parts);
    try {
      await this.#requireFolder(parts.slice(0, -1));
      if (entry.type === 'folder') await this.#makeFolder(parts, entry.mode);
      else if (entry.type === 'file') await this.#writeFile(path, entry);
      else if (entry.type === 'link') {
        await removeFile(path);
        await symlink(entry.target, path);
      } else this.#notice(`${String(path)} was left out: it is neither a file nor a folder nor a link.`);
    } catch (error) {
      throw localFailure(`${String(path)} could not be written`, error);
    }
  }

  async end(): Promise<void> {
    for (const [path, mode] of this.#modes.reverse()) await chmod(path, mode);
  }

  #path(parts: readonly Buffer[]): Buffer {
    return Buffer.concat([Buffer.from(this.#root), ...parts.flatMap((part) => [Buffer.from('/'), part])]);
  }

  async #requireFolder(parts: readonly Buffer[]): Promise<void> {
    const key = Buffer.concat(parts.flatMap((part) => [part, Buffer.from('/')])).toString('latin1');
    if (parts.length === 0 || this.#folders.has(key)) return;
    await this.#requireFolder(parts.slice(0, -1));
    const path = this.#path(parts);
    if (!(await lstat(path)).isDirectory())
      throw new Failure(`${String(path)} is not a folder, but the sandbox has one there.`);
    this.#folders.add(key);
  }

  async #makeFolder(parts: readonly Buffer[], mode: number): Promise<void> {
    const path = this.#path(parts);
    try {
      await mkdir(path, 0o700);
      this.#modes.push([path, mode]);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    await this.#requireFolder(parts);
  }

  async #writeFile(path: Buffer, { mode, content }: ReadEntry): Promise<void> {
    await removeFile(path);
    await using file: FileHandle = await open(path, newFile, 0o600);
    for await (const bytes of content) {
      for (let start = 0; start < bytes.length; ) start += (await file.write(bytes, start)).bytesWritten;
    }
    await file.chmod(mode);
  }
}

/** Removes a file or a link that is in the way. Throws if it is a folder. */
async function removeFile(path: Buffer): Promise<void> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

/** The parts of a name without `.`. Throws a Failure if it leads out of the folder. */
function partsOf(name: Buffer): Buffer[] {
  const parts = name
    .toString('latin1')
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .map((part) => Buffer.from(part, 'latin1'));
  if (name[0] === 0x2f || parts.some((part) => part.toString('latin1') === '..')) {
    throw new Failure(`The sandbox sent a path that leads out of the folder: ${String(name)}.`);
  }
  return parts;
}
