import { rename, writeFile } from 'node:fs/promises';

/** Replaces a file that belongs to root with a JSON document. Readers see the old document or the new one. */
export async function writeJsonFile(path: string, value: unknown): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify(value), { mode: 0o600 });
  await rename(`${path}.new`, path);
}
