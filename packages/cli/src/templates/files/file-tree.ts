import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat, readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { isAbsolute, join, posix, relative, resolve, sep } from 'node:path';
import { formatBytes } from '@mayfly/contract';
import { type TarEntry, tarOf } from '../../archive/tar.ts';
import { Failure } from '../../cli-io.ts';
import { type CopyStep, RecipeError } from '../recipe/recipe.ts';
import { type IsIgnored, parseIgnoreFile, patternSource } from './ignore-file.ts';

/** The files of one copy step, as they are unpacked below a folder of the sandbox. */
export interface FileTree {
  readonly folder: string;
  readonly entries: readonly TarEntry[];
  readonly bytes: number;
  /** Hash of names, contents, modes and link targets. */
  readonly digest: string;
}

/** More is better fetched by a step. */
const maxBytes = 2 * 1024 ** 3;
const maxEntries = 100_000;

/** Finds the files of copy steps below the folder of a recipe. Nothing outside that folder is ever read. */
export class RecipeFolder {
  readonly #root: string;
  readonly #isIgnored: IsIgnored;

  private constructor(root: string, isIgnored: IsIgnored) {
    this.#root = root;
    this.#isIgnored = isIgnored;
  }

  /** Opens the folder. With `ignoreFile`, what its `.dockerignore` lists is left out. */
  static async open(folder: string, { ignoreFile }: { readonly ignoreFile: boolean }): Promise<RecipeFolder> {
    const root = await realpath(folder);
    const source = ignoreFile ? await readFile(join(root, '.dockerignore'), 'utf8').catch(noneIfMissing) : '';
    return new RecipeFolder(root, parseIgnoreFile(source));
  }

  /** Throws a RecipeError if a source is missing, leads out of the folder or cannot be copied. */
  async collect(step: CopyStep): Promise<FileTree> {
    const refuse = (message: string) =>
      new RecipeError([{ line: step.line, field: step.wildcards ? 'COPY' : 'from', message }]);
    try {
      return await this.#collect(step, refuse);
    } catch (error) {
      if (error instanceof RecipeError || error instanceof Failure) throw error;
      throw refuse(`cannot be read: ${reasonOf(error)}`);
    }
  }

  async #collect(step: CopyStep, refuse: (message: string) => RecipeError): Promise<FileTree> {
    const entries = new Map<string, TarEntry>();
    const sources = (
      await Promise.all(step.sources.map((source) => this.#expand(source, step.wildcards, refuse)))
    ).flat();
    if (sources.length > 1 && !step.intoFolder) {
      throw refuse('matches several files, so the destination must be a folder and end with /');
    }
    let folder = step.destination;
    for (const source of sources) {
      const path = await this.#locate(source, refuse);
      const stats = await lstat(path);
      if (stats.isDirectory()) {
        await this.#walk(path, '', step.mode, entries, refuse);
      } else {
        const name = step.intoFolder ? posix.basename(source) : posix.basename(step.destination);
        if (!step.intoFolder) folder = posix.dirname(step.destination);
        entries.set(name, await this.#entry(path, name, stats, step.mode, refuse));
      }
    }
    const sorted = [...entries.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
    const bytes = sorted.reduce((sum, entry) => sum + (entry.type === 'file' ? entry.bytes : 0), 0);
    if (bytes > maxBytes) {
      throw refuse(
        `has ${formatBytes(bytes)} of files. The limit is ${formatBytes(maxBytes)}; fetch them in a step instead`,
      );
    }
    return { folder, entries: sorted, bytes, digest: await digestOf(sorted) };
  }

  /** The paths that a source with wildcards stands for, or the source itself. */
  async #expand(source: string, wildcards: boolean, refuse: (message: string) => RecipeError): Promise<string[]> {
    const inside = checkSource(source, refuse);
    if (!wildcards || !/[*?[]/.test(inside)) return [inside];
    let found = [''];
    for (const part of inside.split('/')) {
      const matcher = new RegExp(`^${patternSource(part)}$`, 's');
      const next = await Promise.all(
        found.map(async (folder) => {
          const names = await readdir(join(this.#root, folder)).catch(() => []);
          return names.filter((name) => matcher.test(name)).map((name) => posix.join(folder, name));
        }),
      );
      found = next.flat();
    }
    const kept = found.filter((path) => !this.#isIgnored(path)).sort();
    if (kept.length === 0) throw refuse(`${source} matches no file`);
    return kept;
  }

  /** The path on this machine, after links, of something below the folder. */
  async #locate(source: string, refuse: (message: string) => RecipeError): Promise<string> {
    if (source !== '.' && this.#isIgnored(source)) throw refuse(`${source} is excluded by .dockerignore`);
    try {
      const path = await realpath(join(this.#root, source));
      if (!this.#contains(path)) throw refuse(`${source} is a link that leads out of the folder of the recipe`);
      return path;
    } catch (error) {
      if (error instanceof RecipeError) throw error;
      throw refuse(`${source} cannot be read: ${reasonOf(error)}`);
    }
  }

  async #walk(
    folder: string,
    name: string,
    mode: number | undefined,
    entries: Map<string, TarEntry>,
    refuse: (message: string) => RecipeError,
  ): Promise<void> {
    for (const child of (await readdir(folder)).sort()) {
      const path = join(folder, child);
      const childName = posix.join(name, child);
      const isIgnored = this.#isIgnored(relative(this.#root, path));
      const stats = await lstat(path);
      if (isIgnored && !stats.isDirectory()) continue;
      if (entries.size >= maxEntries) throw refuse(`has more than ${maxEntries} files. Fetch them in a step instead`);
      if (!isIgnored) entries.set(childName, await this.#entry(path, childName, stats, mode, refuse));
      // A later rule can include files of an ignored folder.
      if (stats.isDirectory()) await this.#walk(path, childName, mode, entries, refuse);
    }
  }

  async #entry(
    path: string,
    name: string,
    stats: Stats,
    mode: number | undefined,
    refuse: (message: string) => RecipeError,
  ): Promise<TarEntry> {
    const shown = relative(this.#root, path);
    const own = stats.mode & 0o777;
    if (stats.isDirectory()) return { type: 'folder', name, mode: own };
    if (stats.isFile()) return { type: 'file', name, mode: mode ?? own, path, bytes: stats.size };
    if (!stats.isSymbolicLink()) throw refuse(`${shown} is neither a file nor a folder nor a link`);
    const target = await readlink(path);
    if (isAbsolute(target) || !this.#contains(resolve(path, '..', target))) {
      throw refuse(`${shown} is a link to ${target}, which is outside the folder of the recipe`);
    }
    return { type: 'link', name, target };
  }

  #contains(path: string): boolean {
    return path === this.#root || path.startsWith(this.#root.endsWith(sep) ? this.#root : this.#root + sep);
  }
}

/** A relative path without `.` and `..` that stays in the folder. */
function checkSource(source: string, refuse: (message: string) => RecipeError): string {
  if (source.includes('\0')) throw refuse('must not contain NUL characters');
  if (posix.isAbsolute(source)) throw refuse(`${source} must be relative to the folder of the recipe`);
  const inside = posix.normalize(source).replace(/\/$/, '');
  if (inside === '..' || inside.startsWith('../')) throw refuse(`${source} leads out of the folder of the recipe`);
  return inside;
}

async function digestOf(entries: readonly TarEntry[]): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of tarOf(entries)) hash.update(chunk);
  return hash.digest('hex');
}

function noneIfMissing(error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
  throw error;
}

/** The end of a message about a failed system call. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error)) return String(error);
  if (error.code === 'ENOENT') return 'it does not exist';
  if (error.code === 'EACCES') return 'permission denied';
  return error.message;
}
