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
import type { PemPair } from '../certificate-source.ts';

/** The folder of the authority in the data folder. */
export interface RootFolder {
  /** The certificate, for everybody to read. */
  readonly certFile: string;
  /** Whether there is an authority, of whatever worth. */
  exists(): boolean;
  /** The pair; undefined if a file is missing or cannot be read. */
  read(): PemPair | undefined;
  /** Puts a pair in the folder's place, at once and whole; what was there is kept beside, in a folder named by the time. */
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
      const prepared = `${folder}.new`;
      rmSync(prepared, { recursive: true, force: true });
      mkdirSync(prepared, { mode: 0o700 });
      writeDurably(join(prepared, 'root.key'), pair.key, 0o600);
      writeDurably(join(prepared, 'root.crt'), pair.cert, 0o644);
      chmodSync(prepared, 0o755);
      syncFolder(prepared);
      if (existsSync(folder)) renameSync(folder, `${folder}.${timeStamp(nowMs)}`);
      renameSync(prepared, folder);
      syncFolder(dirname(folder));
    },
  };
}

/** With exactly that mode, whatever the umask says. */
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

/** E.g. 20261115T093447.123Z: unique, since a root is made once per start. */
function timeStamp(nowMs: number): string {
  return new Date(nowMs).toISOString().replaceAll(/[-:]/g, '');
}
