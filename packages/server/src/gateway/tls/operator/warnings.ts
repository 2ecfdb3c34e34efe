import type { X509Certificate } from 'node:crypto';

/** A problem with a certificate that can still be served. */
export type CertificateWarning = 'expired' | 'not_valid_yet' | 'does_not_cover_previews';

/** Stands for every token: a wildcard covers all labels or none. */
const sampleLabel = 'preview';

export function certificateWarnings(
  certificate: X509Certificate,
  domain: string,
  nowMs: number,
): readonly CertificateWarning[] {
  const warnings: CertificateWarning[] = [];
  if (nowMs >= certificate.validToDate.getTime()) warnings.push('expired');
  if (nowMs < certificate.validFromDate.getTime()) warnings.push('not_valid_yet');
  if (certificate.checkHost(`${sampleLabel}.${domain}`, { subject: 'never' }) === undefined) {
    warnings.push('does_not_cover_previews');
  }
  return warnings;
}
