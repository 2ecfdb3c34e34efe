import { createPrivateKey, X509Certificate } from 'node:crypto';
import { chmod, chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { oneLine } from '../core/errors/api-error.ts';
import type { Log } from '../core/ports/runtime.ts';
import { repeat } from '../core/scheduling/repeat.ts';

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
  /** How often the operator's files are read again. */
  readonly periodMs?: number;
}

/** A file that cannot be copied. The message names the setting. */
export class TlsFileError extends Error {}

/** A renewed certificate is served within this time, and the few seconds until the service sees the new copy. */
export const defaultPeriodMs = 30_000;

/** Larger files are not certificates. */
const maxFileBytes = 1024 ** 2;

/**
 * Copies the operator's certificate and key to where the service can read them, and keeps the copies up to date. Certificates usually belong to
 * root alone and are renewed by replacing links, so the service could neither read them nor see a renewal through a mount of single files.
 * Throws a TlsFileError if a file cannot be read. The copies stay when the result is disposed of: a service may still be using them.
 */
export async function copyTlsFiles(
  operators: TlsPaths,
  { folder, gid, log, periodMs = defaultPeriodMs }: TlsCopyOptions,
): Promise<{ readonly paths: TlsPaths } & AsyncDisposable> {
  await mkdir(folder, { recursive: true });
  await chown(folder, 0, gid);
  await chmod(folder, 0o750);
  const paths = tlsCopies(folder);
  const copy = async (refuse: (pair: Pair) => void): Promise<void> => {
    const pair = await readOperators(operators);
    const [cert, key] = await Promise.all([readCopy(paths.certFile), readCopy(paths.keyFile)]);
    if (pair.cert === cert && pair.key === key) return;
    refuse(pair);
    await replace(paths.certFile, pair.cert, gid);
    await replace(paths.keyFile, pair.key, gid);
  };
  // Whatever the files contain at a start, the service explains what is wrong with it.
  await copy(() => {});
  const copies = repeat('tls_copy', periodMs, () => copy(refuseUnusable), log);
  return { paths, [Symbol.asyncDispose]: () => copies[Symbol.asyncDispose]() };
}

interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** Throws if a certificate and a key do not belong together: they are being renewed, and the copies must stay usable for a service that starts now. */
function refuseUnusable({ cert, key }: Pair): void {
  if (new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) return;
  throw new Error('The renewed certificate and its key do not belong together. The copies of the earlier pair stay.');
}

/** Where the copies in a folder are. */
export function tlsCopies(folder: string): TlsPaths {
  return { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') };
}

async function readOperators({ certFile, keyFile }: TlsPaths): Promise<Pair> {
  const [cert, key] = await Promise.all([readText(certFile, 'MAYFLY_TLS_CERT'), readText(keyFile, 'MAYFLY_TLS_KEY')]);
  return { cert, key };
}

async function readText(path: string, setting: string): Promise<string> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new TlsFileError(`Cannot read ${path} (${oneLine(cause)}). Check ${setting} and the file's permissions.`, {
      cause,
    });
  });
  if (bytes.length <= maxFileBytes) return bytes.toString('utf8');
  throw new TlsFileError(
    `${path} is larger than ${maxFileBytes} bytes: it is not a certificate or key. Check ${setting}.`,
  );
}

/** The content of a copy; undefined if it is missing. */
async function readCopy(path: string): Promise<string | undefined> {
  return await readFile(path, 'utf8').catch(() => undefined);
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
