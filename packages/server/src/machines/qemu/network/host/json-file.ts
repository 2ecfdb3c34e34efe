import { readFile, rename, writeFile } from 'node:fs/promises';
import type { z } from 'zod';

/** What a JSON file holds; undefined when there is none. Fails when it holds something else. */
export const readJsonFile = async <T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> => {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return text === undefined ? undefined : schema.parse(JSON.parse(text));
};

/** Puts a value in the place of what a file held, whole or not at all. */
export const writeJsonFile = async (path: string, value: unknown): Promise<void> => {
  await writeFile(`${path}.new`, JSON.stringify(value), { mode: 0o600 });
  await rename(`${path}.new`, path);
};
