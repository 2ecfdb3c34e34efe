import type { Log } from '../../core/ports/log.ts';
import { openLocalCertificates } from './authority/local-certificates.ts';
import type { Certificates } from './certificate-source.ts';
import { openOwnCertificates } from './own/own-certificates.ts';

export type { Certificates } from './certificate-source.ts';

export interface CertificateOptions {
  /** Previews are one label under it. */
  readonly domain: string;
  /** The local authority is kept in it. */
  readonly dataDir: string;
  /** The operator's own certificate; a local authority signs when absent. */
  readonly files: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly log: Log;
  readonly nowMs?: () => number;
  /** How often the operator's files are looked at. */
  readonly reloadPeriodMs?: number;
}

/** The operator's certificate, or those of a local authority. Rejects with a CertificateError. */
export async function openCertificates(options: CertificateOptions): Promise<Certificates> {
  const { domain, dataDir, files, log, nowMs = Date.now, reloadPeriodMs = 5_000 } = options;
  return files === undefined
    ? openLocalCertificates({ domain, dataDir, log, nowMs })
    : openOwnCertificates({ ...files, domain, log, nowMs, reloadPeriodMs });
}
