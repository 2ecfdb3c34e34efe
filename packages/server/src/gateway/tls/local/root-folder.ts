import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { PemPair } from '../certificates.ts';

/** The authority's folder inside the data folder. */
export interface RootFolder {
  /** The root certificate, world-readable. */
  readonly certFile: string;
  /** Whether there is an authority, usable or not. */
  exists(): boolean;
  /** Undefined if a file is missing or unreadable. */
  read(): PemPair | undefined;
  /** Replaces the folder atomically. The previous one is kept beside it under a name with a timestamp. */
  write(pair: PemPair, nowMs: number): void;
}

export function rootFolder(dataDir: string): RootFolder {
  const folder = join(dataDir, 'preview-authority');
  const certFile = join(folder, 'root.crt');
  return {
    certFile,
    exists: () => existsSync(folder),
    read: () => {
      try {
        return { cert: readFileSync(certFile, 'utf8'), key: readFileSync(join(folder, 'root.key'), 'utf8') };
      } catch {
        return undefined;
      }
    },
    write: (pair, nowMs) => {
      const staged = `${folder}.new`;
      rmSync(staged, { recursive: true, force: true });
      mkdirSync(staged, { mode: 0o700 });
      writeDurably(join(staged, 'root.key'), pair.key, 0o600);
      writeDurably(join(staged, 'root.crt'), pair.cert, 0o644);
      chmodSync(staged, 0o755);
      syncFolder(staged);
      if (existsSync(folder)) renameSync(folder, `${folder}.${timestamp(nowMs)}`);
      renameSync(staged, folder);
      syncFolder(dirname(folder));
    },
  };
}

/** The mode is exact, whatever the umask is. */
function writeDurably(file: string, text: string, mode: number): void {
  writeFileSync(file, text, { mode: 0o600, flush: true });
  chmodSync(file, mode);
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** E.g. 20261115T093447.123Z; unique, because at most one root is created per start. */
function timestamp(nowMs: number): string {
  return new Date(nowMs).toISOString().replaceAll(/[-:]/g, '');
}
