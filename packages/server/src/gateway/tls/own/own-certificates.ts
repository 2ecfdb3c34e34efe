import { oneLine } from '../../../core/errors/one-line.ts';
import type { Log } from '../../../core/ports/log.ts';
import { repeat } from '../../../core/scheduling/repeat.ts';
import type { Certificates } from '../certificate-source.ts';
import { doubtsAbout } from './doubts.ts';
import { identityOf } from './file-identity.ts';
import { type LoadedPair, loadPair, type PairFiles } from './load-pair.ts';

export interface OwnCertificateOptions extends PairFiles {
  readonly domain: string;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly reloadPeriodMs: number;
}

/** The operator's certificate for whatever name, taken anew when its files change. */
export async function openOwnCertificates(options: OwnCertificateOptions): Promise<Certificates> {
  const { log, reloadPeriodMs } = options;
  let served = await identityOf(options);
  let pair = await loadPair(options);
  sayDoubts(options, pair);

  let complaint: string | undefined;
  const look = async (): Promise<void> => {
    const identity = await identityOf(options);
    if (identity === served && complaint === undefined) return;
    try {
      pair = await loadPair(options);
    } catch (error) {
      const reason = oneLine(error);
      if (reason !== complaint) log.warn({ reason }, 'certificate_not_reloaded');
      complaint = reason;
      return;
    }
    if (identity !== served) log.info({ ends_at: endOf(pair) }, 'certificate_reloaded');
    served = identity;
    complaint = undefined;
    sayDoubts(options, pair);
  };
  const looking = repeat('certificate_reload', reloadPeriodMs, look, log);
  return {
    rootFile: undefined,
    contextFor: async () => pair.context,
    pairForNoName: async () => pair,
    [Symbol.dispose]: () => void looking[Symbol.asyncDispose](),
  };
}

function sayDoubts({ certFile, domain, log, nowMs }: OwnCertificateOptions, pair: LoadedPair): void {
  const doubts = doubtsAbout(pair.certificate, domain, nowMs());
  if (doubts.length === 0) return;
  log.warn({ doubts, file: certFile, domain, ends_at: endOf(pair) }, 'certificate_doubtful');
}

function endOf({ certificate }: LoadedPair): string {
  return certificate.validToDate.toISOString();
}
