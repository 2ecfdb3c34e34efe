import { chmod, lstat, mkdir, stat, symlink, unlink } from 'node:fs/promises';
import { type ReadEntry, readTar } from '../archive/read-tar.ts';
import { Failure } from '../cli-io.ts';
import { replaceFile } from './replace-file.ts';
import { type Copied, localFailure } from './transfer.ts';

export interface UnpackOptions {
  /** The mode of the folder if it is new. */
  readonly mode: number;
  /** Whether the folder may be a link to one, because the user named it. An earlier archive may have put a link anywhere else. */
  readonly mayBeLink: boolean;
  readonly notice: (message: string) => void;
}

/**
 * Unpacks an archive that a sandbox sent into a folder, which is created unless it exists. The archive is hostile until proven otherwise: nothing is
 * written outside of the folder or through a link, and files get permission bits only. Returns what was written. Throws a Failure if something cannot be.
 */
export async function unpack(
  archive: AsyncIterable<Uint8Array>,
  folder: string,
  { mode, mayBeLink, notice }: UnpackOptions,
): Promise<Copied> {
  const unpacking = new Unpacking(folder, notice);
  await unpacking.begin(mode, mayBeLink);
  for await (const entry of readTar(archive)) await unpacking.add(entry);
  return await unpacking.end();
}

class Unpacking {
  readonly #root: string;
  readonly #notice: (message: string) => void;
  /** Folders that are known to be no links, as Latin-1 so that any bytes can be compared. */
  readonly #folders = new Set<string>();
  /** The modes of new folders, which are set at the end: a read-only folder could not be filled. */
  readonly #modes: [path: Buffer | string, mode: number][] = [];
  #files = 0;
  #bytes = 0;

  constructor(root: string, notice: (message: string) => void) {
    this.#root = root;
    this.#notice = notice;
  }

  async begin(mode: number, mayBeLink: boolean): Promise<void> {
    const isNew = await mkdir(this.#root, 0o700).then(
      () => true,
      async (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
        const stats = await (mayBeLink ? stat(this.#root) : lstat(this.#root));
        if (stats.isSymbolicLink()) throw new Failure(`${this.#root} is a link. Remove it, or name where it leads.`);
        if (!stats.isDirectory()) throw error;
        return false;
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
      else if (entry.type === 'file') {
        this.#bytes += await replaceFile(path, entry.content, { mode: entry.mode });
        this.#files += 1;
      } else if (entry.type === 'link') {
        await removeFile(path);
        await symlink(entry.target, path);
      } else this.#notice(`${String(path)} was left out: it is neither a file nor a folder nor a link.`);
    } catch (error) {
      throw localFailure(`${String(path)} could not be written`, error);
    }
  }

  async end(): Promise<Copied> {
    for (const [path, mode] of this.#modes.reverse()) await chmod(path, mode);
    return { files: this.#files, bytes: this.#bytes };
  }

  #path(parts: readonly Buffer[]): Buffer {
    return Buffer.concat([Buffer.from(this.#root), ...parts.flatMap((part) => [Buffer.from('/'), part])]);
  }

  /** Throws unless the path and everything above it, up to the root, are folders. */
  async #requireFolder(parts: readonly Buffer[]): Promise<void> {
    let key = '';
    for (const [index, part] of parts.entries()) {
      key += `${part.toString('latin1')}/`;
      if (this.#folders.has(key)) continue;
      const path = this.#path(parts.slice(0, index + 1));
      if (!(await lstat(path)).isDirectory())
        throw new Failure(`${String(path)} is not a folder, but the sandbox has one there.`);
      this.#folders.add(key);
    }
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
