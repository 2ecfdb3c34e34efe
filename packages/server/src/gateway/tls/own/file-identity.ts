import { stat } from 'node:fs/promises';
import type { PairFiles } from './load-pair.ts';

/** Changes whenever one of the files, or what a link on the way points to, was replaced or written; undefined while one is missing. */
export async function identityOf({ certFile, keyFile }: PairFiles): Promise<string | undefined> {
  try {
    const seen = await Promise.all([certFile, keyFile].map((file) => stat(file, { bigint: true })));
    return seen.map(({ dev, ino, mtimeNs, size }) => [dev, ino, mtimeNs, size].join(':')).join(' ');
  } catch {
    return undefined;
  }
}
