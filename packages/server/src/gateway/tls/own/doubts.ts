import type { X509Certificate } from 'node:crypto';

/** What is odd about a certificate that can be served all the same. */
export type Doubt = 'expired' | 'not_valid_yet' | 'does_not_cover_previews';

/** Any label: what holds for it holds for every token. */
const someLabel = 'preview';

export function doubtsAbout(certificate: X509Certificate, domain: string, nowMs: number): readonly Doubt[] {
  const doubts: Doubt[] = [];
  if (nowMs >= certificate.validToDate.getTime()) doubts.push('expired');
  if (nowMs < certificate.validFromDate.getTime()) doubts.push('not_valid_yet');
  if (certificate.checkHost(`${someLabel}.${domain}`, { subject: 'never' }) === undefined) {
    doubts.push('does_not_cover_previews');
  }
  return doubts;
}
