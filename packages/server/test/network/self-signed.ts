import { generateKeyPairSync } from 'node:crypto';
import { GeneralName, id_ce_subjectAltName, SubjectAlternativeName } from '@peculiar/asn1-x509';
import { extension, mayflyName, publicKeyInfo, signCertificate } from '../../src/gateway/tls/local/x509.ts';

const dayMs = 24 * 60 * 60_000;

/** A key and a self-signed certificate for host names and IPv4 addresses (PEM), valid for a day. */
export function selfSigned(
  names: readonly string[],
  addresses: readonly string[],
): { readonly key: string; readonly cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const subject = mayflyName('mayfly test');
  const alternatives = new SubjectAlternativeName([
    ...names.map((dNSName) => new GeneralName({ dNSName })),
    ...addresses.map((iPAddress) => new GeneralName({ iPAddress })),
  ]);
  const cert = signCertificate({
    subject,
    issuer: subject,
    publicKey: publicKeyInfo(publicKey),
    signingKey: privateKey,
    notBeforeMs: Date.now() - dayMs,
    notAfterMs: Date.now() + dayMs,
    extensions: [extension(id_ce_subjectAltName, false, alternatives)],
  });
  return { key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), cert };
}
