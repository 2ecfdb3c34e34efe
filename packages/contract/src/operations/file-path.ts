import { z } from 'zod';
import { fitsCodePoints, withoutNul } from '../fields.ts';
import { workspacePath } from '../limits.ts';

/** Linux knows no longer path, in bytes. */
const maxCharacters = 4_096;

/** The absolute path without `.`, `..` and doubled slashes; a relative one is in /workspace, and undefined if it climbs out of it. */
export function resolveFilePath(path: string): string | undefined {
  const isAbsolute = path.startsWith('/');
  const names: string[] = [];
  for (const name of path.split('/')) {
    if (name === '' || name === '.') continue;
    if (name !== '..') names.push(name);
    else if (names.length > 0) names.pop();
    else if (!isAbsolute) return undefined;
  }
  if (isAbsolute) return `/${names.join('/')}`;
  return [workspacePath, ...names].join('/');
}

/** A path in the sandbox, as the caller spells it. */
export const filePath = withoutNul('path', z.string({ error: 'path must be a string' }))
  .refine((path) => path !== '', { error: 'path must not be empty', abort: true })
  .refine((path) => fitsCodePoints(path, maxCharacters), {
    error: `path must be at most ${maxCharacters} characters`,
    abort: true,
  })
  .refine((path) => path.isWellFormed(), { error: 'path must be valid Unicode' })
  .refine((path) => resolveFilePath(path) !== undefined, { error: `path must not lead out of ${workspacePath}` })
  .meta({ minLength: 1, maxLength: maxCharacters, examples: ['notes.txt'] });
