import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ControlFile } from './limits.ts';

const absent = new Set(['ENOENT', 'EACCES', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP']);

/** The code of a system error, or undefined. */
export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** Writes one control file of a group. An optional one that the kernel does not have is left out. */
export const writeControl = async (group: string, { name, value, optional }: ControlFile): Promise<void> => {
  try {
    await writeFile(join(group, name), value);
  } catch (cause) {
    if (optional && absent.has(errorCode(cause) ?? '')) return;
    throw new Error(`could not write "${value}" to ${join(group, name)}`, { cause });
  }
};

/** One number of a control file with lines of "name number"; undefined when the file or the name is not there. */
export const readCounter = async (group: string, file: string, name: string): Promise<number | undefined> => {
  const text = await readFile(join(group, file), 'utf8').catch(() => '');
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
};
