import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** What a file of the repository names: files that it imports or starts, and files or folders that it reads. Paths are relative to the repository. */
export type References = (file: string) => readonly string[];

/** The import map of the root package.json and the exports of the workspaces, as far as the repository's own code is concerned. */
interface Packages {
  readonly imports: ReadonlyMap<string, string>;
  readonly exports: ReadonlyMap<string, string>;
}

/**
 * Returns a function that lists what a file names. Every quoted text that leads to something in the repository counts, not only imports: tests also
 * start programs and read files by their paths. A file that does not exist names nothing.
 */
export function readReferences(root: string): References {
  const packages = readPackages(root);
  const found = new Map<string, readonly string[]>();
  return (file) => {
    let named = found.get(file);
    if (named === undefined) {
      named = existsSync(join(root, file)) ? referencesIn(root, file, packages) : [];
      found.set(file, named);
    }
    return named;
  };
}

/** The file and everything that it names directly or through other files. Files for which `isFollowed` is false are listed, but not read. */
export function reachableFrom(
  file: string,
  references: References,
  isFollowed: (file: string) => boolean = () => true,
): ReadonlySet<string> {
  const reached = new Set([file]);
  // A set that grows while it is iterated also visits what was added.
  for (const next of reached) {
    if (isCode(next) && isFollowed(next)) for (const named of references(next)) reached.add(named);
  }
  return reached;
}

/** Whether a file is one of those reached, or in one of the folders reached. */
export function isReached(file: string, reached: ReadonlySet<string>): boolean {
  if (reached.has(file)) return true;
  const parent = dirname(file);
  return parent !== '.' && isReached(parent, reached);
}

function isCode(path: string): boolean {
  return /\.(?:ts|mjs|cjs|js)$/.test(path);
}

function referencesIn(root: string, file: string, packages: Packages): readonly string[] {
  const texts = readFileSync(join(root, file), 'utf8').matchAll(/'([^'\n\s]+)'/g);
  return [...new Set([...texts].flatMap(([, text = '']) => resolve(root, file, text, packages) ?? []))];
}

/** The path that a quoted text leads to; undefined if it leads to nothing in the repository, or is only the beginning of a path. */
function resolve(root: string, file: string, text: string, { imports, exports }: Packages): string | undefined {
  if (!/\w$/.test(text) && !/\w\/$/.test(text)) return undefined;
  const mapped = exports.get(text) ?? mapImport(text, imports);
  const path = mapped ?? (text.startsWith('.') ? join(dirname(file), text) : text.includes('/') ? text : undefined);
  if (path === undefined) return undefined;
  const normal = normalize(path).replace(/\/$/, '');
  if (normal.startsWith('..') || normal.startsWith('/') || normal.includes('node_modules')) return undefined;
  const full = join(root, normal);
  if (!existsSync(full)) return undefined;
  return statSync(full).isDirectory() && isBeginning(normal) ? undefined : normal;
}

/** Whether a folder is usually named only as the beginning of a longer path. Others, such as native/jail, are read or built as a whole. */
function isBeginning(folder: string): boolean {
  return folder !== 'docs' && (!folder.includes('/') || /\/(?:src|test)$/.test(folder));
}

function mapImport(text: string, imports: ReadonlyMap<string, string>): string | undefined {
  const prefix = [...imports.keys()].find((key) => text.startsWith(key));
  return prefix === undefined ? undefined : `${imports.get(prefix)}${text.slice(prefix.length)}`;
}

function readPackages(root: string): Packages {
  interface Manifest {
    readonly name: string;
    readonly imports?: Readonly<Record<string, string>>;
    readonly exports?: Readonly<Record<string, string>>;
  }
  const read = (folder: string) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest;
  const withoutStar = (path: string) => path.replace(/\*$/, '');
  const imports = Object.entries(read('.').imports ?? {}).map(
    ([from, to]) => [withoutStar(from), normalize(withoutStar(to))] as const,
  );
  const exports = readdirSync(join(root, 'packages')).flatMap((name) => {
    const folder = join('packages', name);
    const manifest = read(folder);
    return Object.entries(manifest.exports ?? {}).map(
      ([from, to]) => [join(manifest.name, from), join(folder, to)] as const,
    );
  });
  return { imports: new Map(imports), exports: new Map(exports) };
}
