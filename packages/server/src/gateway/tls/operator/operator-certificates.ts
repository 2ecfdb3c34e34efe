import { stat } from 'node:fs/promises';
import { oneLine } from '../../../core/errors/api-error.ts';
import type { Log } from '../../../core/ports/runtime.ts';
import { repeat } from '../../../core/scheduling/repeat.ts';
import type { Certificates } from '../certificates.ts';
import { type LoadedPair, loadPair, type PairFiles } from './load-pair.ts';
import { certificateWarnings } from './warnings.ts';

export interface OperatorCertificateOptions extends PairFiles {
  readonly domain: string;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly reloadPeriodMs: number;
}

/** Serves the operator's certificate for every name and reloads it when its files change. */
export async function openOperatorCertificates(options: OperatorCertificateOptions): Promise<Certificates> {
  const { log, reloadPeriodMs } = options;
  let loadedVersion = await versionOf(options);
  let pair = await loadPair(options);
  logWarnings(options, pair);

  let lastFailure: string | undefined;
  const reload = async (): Promise<void> => {
    const version = await versionOf(options);
    if (version === loadedVersion && lastFailure === undefined) return;
    let loaded: LoadedPair;
    try {
      loaded = await loadPair(options);
    } catch (error) {
      const reason = oneLine(error);
      if (reason !== lastFailure) log.warn({ err: error }, 'certificate_reload_failed');
      lastFailure = reason;
      return;
    }
    // A file that was replaced while both were read may belong to the next pair: the next turn looks at both again.
    if ((await versionOf(options)) !== version) return;
    pair = loaded;
    if (version !== loadedVersion) log.info({ expires_at: expiryOf(pair) }, 'certificate_reloaded');
    loadedVersion = version;
    lastFailure = undefined;
    logWarnings(options, pair);
  };
  const reloading = repeat('certificate_reload', reloadPeriodMs, reload, log);
  return {
    rootFile: undefined,
    contextFor: async () => pair.context,
    defaultPair: async () => pair,
    [Symbol.dispose]: () => void reloading[Symbol.asyncDispose](),
  };
}

/** Changes whenever one of the files, or the target of a symbolic link, is replaced or written; undefined while one is missing. */
async function versionOf({ certFile, keyFile }: PairFiles): Promise<string | undefined> {
  try {
    const stats = await Promise.all([certFile, keyFile].map((file) => stat(file, { bigint: true })));
    return stats.map(({ dev, ino, mtimeNs, size }) => [dev, ino, mtimeNs, size].join(':')).join(' ');
  } catch {
    return undefined;
  }
}

function logWarnings({ certFile, domain, log, nowMs }: OperatorCertificateOptions, pair: LoadedPair): void {
  const warnings = certificateWarnings(pair.certificate, domain, nowMs());
  if (warnings.length === 0) return;
  log.warn({ warnings, file: certFile, domain, expires_at: expiryOf(pair) }, 'certificate_warnings_found');
}

function expiryOf({ certificate }: LoadedPair): string {
  return certificate.validToDate.toISOString();
}
