import { workspacePath } from '@mayfly/contract';

/** The longest path of Linux, in bytes, without the NUL at its end. */
const maxPathBytes = 4_095;
const maxNameBytes = 255;
const encoder = new TextEncoder();

/** The path of an entry of a folder. Both are absolute. */
export function joinPath(folder: string, name: string): string {
  return folder === '/' ? `/${name}` : `${folder}/${name}`;
}

/** The folder that something is in; `/` is in itself. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf('/')));
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Whether a path is a folder or in it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || folder === '/' || path.startsWith(`${folder}/`);
}

/** The folders from `root` down to the one that a path is in, without the path itself. */
export function foldersAbove(path: string, root: string): readonly string[] {
  const folders: string[] = [];
  for (let folder = path; folder !== root && isWithin(folder, root); ) {
    folder = parentOf(folder);
    folders.unshift(folder);
  }
  return folders;
}

/** Returns an absolute path without `.`, `..` and repeated slashes. What does not begin with a slash is in `folder`. */
export function resolvePath(typed: string, folder: string): string {
  const names: string[] = [];
  for (const name of (typed.startsWith('/') ? typed : `${folder}/${typed}`).split('/')) {
    if (name === '..') names.pop();
    else if (name !== '' && name !== '.') names.push(name);
  }
  return `/${names.join('/')}`;
}

/** The path in the address of the page; the workspace if there is none that could be one. */
export function pathInSearch(path: unknown): string {
  return typeof path === 'string' && path.startsWith('/') && !path.includes('\0')
    ? resolvePath(path, '/')
    : workspacePath;
}

/** What is wrong with a name for an entry of a folder; undefined if nothing is. */
export function faultInName(name: string, folder: string): string | undefined {
  if (name === '' || name === '.' || name === '..') return 'Enter a name.';
  if (name.includes('/')) return 'A name cannot contain a slash.';
  if (name.includes('\0') || !name.isWellFormed()) return 'A name must be valid Unicode, without NUL characters.';
  if (encoder.encode(name).length > maxNameBytes) return `A name has at most ${maxNameBytes} bytes.`;
  if (encoder.encode(joinPath(folder, name)).length > maxPathBytes) return 'The path would be too long.';
  return undefined;
}

/** Whether a name as it is listed names its entry. Bytes that are not UTF-8 are listed as replacement characters. */
export function isExactName(name: string): boolean {
  return !name.includes('\uFFFD');
}
