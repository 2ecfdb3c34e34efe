import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  type Extension,
  GeneralName,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_serverAuth,
  KeyUsage,
  KeyUsageFlags,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
} from '@peculiar/asn1-x509';
import type { PemPair } from '../certificates.ts';
import type { Root } from './root.ts';
import { extension, keyIdentifier, mayflyName, publicKeyInfo, signCertificate } from './x509.ts';

const hourMs = 3_600_000;
const leafMs = 90 * 24 * hourMs;
const renewAfterMs = 60 * 24 * hourMs;

/** A server certificate for one name. */
export interface Leaf extends PemPair {
  /** When it should be replaced; well before it expires. */
  readonly renewAtMs: number;
}

/** Issues a certificate per name. All of them share one key, which lives as long as this process. */
export function leafIssuer(root: Root): (name: string, nowMs: number) => Leaf {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const issuer = AsnConvert.parse(root.certificate.raw, Certificate).tbsCertificate.subject;
  const subject = mayflyName('Mayfly preview');
  const publicKey = publicKeyInfo(keys.publicKey);
  const rootKeyId = keyIdentifier(publicKeyInfo(createPublicKey(root.signingKey)));
  const commonExtensions = extensionsOfEveryLeaf(keyIdentifier(publicKey), rootKeyId);
  const rootExpiresAtMs = root.certificate.validToDate.getTime();
  return (name, nowMs) => {
    const names = new SubjectAlternativeName([new GeneralName({ dNSName: name })]);
    const cert = signCertificate({
      subject,
      issuer,
      publicKey,
      signingKey: root.signingKey,
      notBeforeMs: nowMs - hourMs,
      notAfterMs: Math.min(nowMs + leafMs, rootExpiresAtMs),
      extensions: [...commonExtensions, extension(id_ce_subjectAltName, false, names)],
    });
    // The chain includes the root, so that a client that does not trust it reports that as the reason.
    return { cert: cert + root.cert, key, renewAtMs: nowMs + renewAfterMs };
  };
}

function extensionsOfEveryLeaf(leafKeyId: ArrayBuffer, rootKeyId: ArrayBuffer): readonly Extension[] {
  const authority = new AuthorityKeyIdentifier({ keyIdentifier: new OctetString(rootKeyId) });
  return [
    extension(id_ce_basicConstraints, true, new BasicConstraints({ cA: false })),
    extension(id_ce_keyUsage, true, new KeyUsage(KeyUsageFlags.digitalSignature)),
    extension(id_ce_extKeyUsage, false, new ExtendedKeyUsage([id_kp_serverAuth])),
    extension(id_ce_subjectKeyIdentifier, false, new SubjectKeyIdentifier(leafKeyId)),
    extension(id_ce_authorityKeyIdentifier, false, authority),
  ];
}
