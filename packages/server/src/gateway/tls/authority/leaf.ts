import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
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
import type { PemPair } from '../certificate-source.ts';
import { encoded, extension, issue, mayflyName, type SubjectKey, subjectKeyOf } from './issue.ts';
import type { Root } from './root.ts';

const hourMs = 3_600_000;
const leafMs = 90 * 24 * hourMs;
const renewAfterMs = 60 * 24 * hourMs;

/** A server's certificate for one name. */
export interface Leaf extends PemPair {
  /** From when on it should be replaced; well before it ends. */
  readonly renewAtMs: number;
}

/** Gives certificates for names, all on one key that lives as long as this process. */
export function leafMinter(root: Root): (name: string, nowMs: number) => Leaf {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const issuer = encoded(AsnConvert.parse(root.certificate.raw, Certificate).tbsCertificate.subject);
  const subject = mayflyName('Mayfly preview');
  const subjectKey = subjectKeyOf(publicKey);
  const fixed = fixedExtensions(subjectKey, subjectKeyOf(createPublicKey(root.signingKey)));
  const rootEndMs = root.certificate.validToDate.getTime();
  return (name, nowMs) => {
    const names = new SubjectAlternativeName([new GeneralName({ dNSName: name })]);
    const leaf = issue({
      subject,
      issuer,
      subjectKey,
      signingKey: root.signingKey,
      notBeforeMs: nowMs - hourMs,
      notAfterMs: Math.min(nowMs + leafMs, rootEndMs),
      extensions: [...fixed, extension(id_ce_subjectAltName, false, names)],
    });
    // With the root, so that a client that does not trust it can say so.
    return { cert: leaf + root.cert, key, renewAtMs: nowMs + renewAfterMs };
  };
}

function fixedExtensions(leafKey: SubjectKey, rootKey: SubjectKey): readonly Uint8Array[] {
  const authority = new AuthorityKeyIdentifier({ keyIdentifier: new OctetString(rootKey.identifier) });
  return [
    extension(id_ce_basicConstraints, true, new BasicConstraints({ cA: false })),
    extension(id_ce_keyUsage, true, new KeyUsage(KeyUsageFlags.digitalSignature)),
    extension(id_ce_extKeyUsage, false, new ExtendedKeyUsage([id_kp_serverAuth])),
    extension(id_ce_subjectKeyIdentifier, false, new SubjectKeyIdentifier(leafKey.identifier)),
    extension(id_ce_authorityKeyIdentifier, false, authority),
  ];
}
