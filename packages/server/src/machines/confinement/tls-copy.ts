import { chmod, chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../core/ports/runtime.ts';
import { repeat } from '../../core/scheduling/repeat.ts';

/** The operator's certificate and its key, as absolute paths. */
export interface TlsPaths {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface TlsCopyOptions {
  /** Belongs to root, and its group is the service's. */
  readonly folder: string;
  readonly gid: number;
  readonly log: Log;
  /** Whether the copies stay when this process stops, because a service that others started goes on. */
  readonly keep?: boolean;
  /** How often the operator's files are read again. */
  readonly periodMs?: number;
}

/** A renewed certificate is served within twice this time: the service looks for changes as often. */
const defaultPeriodMs = 30_000;

/** Larger files are no certificates. */
const maxFileBytes = 1024 ** 2;

/**
 * Copies the operator's certificate and key to where the service can read them, and keeps the copies up to date. Certificates usually belong to
 * root alone and are renewed by replacing links, so the service could neither read them nor see a renewal through a mount of single files.
 */
export async function copyTlsFiles(
  operators: TlsPaths,
  { folder, gid, log, keep = false, periodMs = defaultPeriodMs }: TlsCopyOptions,
): Promise<{ readonly paths: TlsPaths } & AsyncDisposable> {
  await mkdir(folder, { recursive: true });
  await chown(folder, 0, gid);
  await chmod(folder, 0o750);
  const paths = tlsCopies(folder);
  let last: readonly [string, string] = ['', ''];
  const copy = async (): Promise<void> => {
    // The pair is read together, so that a renewal between the two is corrected by the next run.
    const [cert, key] = await Promise.all([readText(operators.certFile), readText(operators.keyFile)]);
    if (cert === last[0] && key === last[1]) return;
    await replace(paths.certFile, cert, gid);
    await replace(paths.keyFile, key, gid);
    last = [cert, key];
  };
  await copy();
  const copies = repeat('tls_copy', periodMs, copy, log);
  return {
    paths,
    [Symbol.asyncDispose]: async () => {
      await copies[Symbol.asyncDispose]();
      if (!keep) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Where the copies in a folder are. */
export function tlsCopies(folder: string): TlsPaths {
  return { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') };
}

async function readText(path: string): Promise<string> {
  const bytes = await readFile(path);
  if (bytes.length > maxFileBytes)
    throw new Error(`${path} is larger than ${maxFileBytes} bytes: it is no certificate or key`);
  return bytes.toString('utf8');
}

/** Readers see the old content or the new one. Nobody but root and the service's group can read it at any time. */
async function replace(path: string, text: string, gid: number): Promise<void> {
  const temporary = `${path}.new`;
  await rm(temporary, { force: true });
  await writeFile(temporary, text, { mode: 0o600, flag: 'wx', flush: true });
  await chown(temporary, 0, gid);
  await chmod(temporary, 0o640);
  await rename(temporary, path);
}
