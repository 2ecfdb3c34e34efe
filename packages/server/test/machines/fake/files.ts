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

  /** The names in a folder, sorted, with the size of those that are files. */
  list(path: string): { readonly name: string; readonly sizeBytes: number | null }[] {
    const prefix = path === '/' ? '/' : `${path}/`;
    const sizes = new Map<string, number | null>();
    for (const full of [...folders, ...this.#contents.keys()]) {
      if (full === path || !full.startsWith(prefix)) continue;
      const [name = '', ...below] = full.slice(prefix.length).split('/');
      sizes.set(name, below.length > 0 ? null : (this.#contents.get(full)?.length ?? null));
    }
    return [...sizes].map(([name, sizeBytes]) => ({ name, sizeBytes })).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Removes a file, or a folder with all that is in it. */
  remove(path: string): void {
    for (const full of this.#contents.keys()) {
      if (full === path || full.startsWith(`${path}/`)) this.#contents.delete(full);
    }
  }
}
