import type { Log } from '../../core/ports/runtime.ts';
import type { Certificates } from './certificates.ts';
import { openLocalCertificates } from './local/local-certificates.ts';
import { openOperatorCertificates } from './operator/operator-certificates.ts';

export interface CertificateOptions {
  /** The parent domain: a preview's host name is one label below it. */
  readonly domain: string;
  /** The data folder, where the local authority is stored. */
  readonly dataDir: string;
  /** The operator's certificate; without it a local authority issues certificates. */
  readonly files: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly log: Log;
  readonly nowMs?: () => number;
  /** How often the operator's files are checked for changes. */
  readonly reloadPeriodMs?: number;
}

/** Opens the operator's certificate if configured, otherwise the local authority. Rejects with a CertificateError. */
export async function openCertificates(options: CertificateOptions): Promise<Certificates> {
  const { domain, dataDir, files, log, nowMs = Date.now, reloadPeriodMs = 5_000 } = options;
  return files === undefined
    ? openLocalCertificates({ domain, dataDir, log, nowMs })
    : openOperatorCertificates({ ...files, domain, log, nowMs, reloadPeriodMs });
}
