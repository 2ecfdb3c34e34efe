import { posix } from 'node:path';

const folders = ['/', '/workspace', '/tmp', '/home/sandbox'];

/** The files of one fake machine, by absolute path. Folders are implied by the files in them. */
export class FakeFiles {
  readonly #contents = new Map<string, Buffer>();

  /** The absolute path; a relative one is in the given folder. */
  static resolve(path: string, cwd = '/workspace'): string {
    return posix.resolve(cwd, path);
  }

  isFolder(path: string): boolean {
    if (folders.includes(path)) return true;
    const prefix = `${path}/`;
    return [...this.#contents.keys()].some((name) => name.startsWith(prefix));
  }

  read(path: string): Buffer | undefined {
    return this.#contents.get(path);
  }

  write(path: string, content: Buffer): void {
    this.#contents.set(path, content);
  }
}
