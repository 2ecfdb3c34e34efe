import { resolveFilePath } from '@mayfly/contract';

/** The absolute form of a path that was checked. */
export function absolutePath(path: string): string {
  const absolute = resolveFilePath(path);
  if (absolute === undefined) throw new Error('this path was not checked');
  return absolute;
}
