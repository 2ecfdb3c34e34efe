import { hostname } from 'node:os';
import { oneLine } from '../../../core/errors/one-line.ts';
import type { Log } from '../../../core/ports/log.ts';
import { CertificateError } from '../certificate-error.ts';
import { makeRoot, type Root, readRoot } from './root.ts';
import { type RootFolder, rootFolder } from './root-folder.ts';

export interface OpenRootOptions {
  readonly domain: string;
  readonly dataDir: string;
  readonly log: Log;
  readonly nowMs: () => number;
}

/** An authority that is there to sign. */
export interface OpenRoot {
  readonly root: Root;
  readonly certFile: string;
}

/** The authority of the data folder, made if there is none. One that cannot sign for the domain is replaced, never silently. */
export function openRoot({ domain, dataDir, log, nowMs }: OpenRootOptions): OpenRoot {
  const folder = rootFolder(dataDir);
  const kept = folder.exists() ? readKept(folder, domain, nowMs()) : undefined;
  if (typeof kept === 'object') return { root: kept, certFile: folder.certFile };
  if (kept !== undefined) log.warn({ reason: kept, file: folder.certFile }, 'preview_authority_replaced');
  const root = makeKept(folder, domain, nowMs());
  log.info({ file: folder.certFile, ends_at: root.certificate.validToDate.toISOString() }, 'preview_authority_made');
  return { root, certFile: folder.certFile };
}

function readKept(folder: RootFolder, domain: string, nowMs: number): Root | string {
  const pair = folder.read();
  return pair === undefined ? 'not_readable' : readRoot(pair, domain, nowMs);
}

function makeKept(folder: RootFolder, domain: string, nowMs: number): Root {
  const pair = makeRoot(domain, hostname(), nowMs);
  try {
    folder.write(pair, nowMs);
  } catch (cause) {
    throw new CertificateError(
      `The authority for preview certificates cannot be written to ${folder.certFile} (${oneLine(cause)}). ` +
        'Make room or rights in the data folder, or set MAYFLY_TLS_CERT and MAYFLY_TLS_KEY.',
      { cause },
    );
  }
  const root = readRoot(pair, domain, nowMs);
  if (typeof root === 'string') throw new CertificateError(`A new authority for preview certificates is ${root}.`);
  return root;
}
