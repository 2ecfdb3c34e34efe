import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { AsnConvert } from '@peculiar/asn1-schema';
import {
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_nameConstraints,
  id_ce_subjectKeyIdentifier,
  id_kp_serverAuth,
  KeyUsage,
  KeyUsageFlags,
  SubjectKeyIdentifier,
} from '@peculiar/asn1-x509';
import type { PemPair } from '../certificate-source.ts';
import { encoded, extension, issue, mayflyName, subjectKeyOf } from './issue.ts';
import { onlyUnder } from './name-constraints.ts';

const dayMs = 86_400_000;
const rootDays = 3_650;
const commonNameLength = 64;

/** The local authority: its certificate and the key that signs. */
export interface Root {
  /** PEM. */
  readonly cert: string;
  readonly certificate: X509Certificate;
  /** Secret. */
  readonly signingKey: KeyObject;
}

/** Makes a root that can sign for the domain and names under it, for TLS servers, and for nothing else. */
export function makeRoot(domain: string, hostName: string, nowMs: number): PemPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const subjectKey = subjectKeyOf(publicKey);
  const name = mayflyName(`Mayfly previews on ${hostName}`.slice(0, commonNameLength));
  const cert = issue({
    subject: name,
    issuer: name,
    subjectKey,
    signingKey: privateKey,
    // A day ago: the clients' clocks may be behind.
    notBeforeMs: nowMs - dayMs,
    notAfterMs: nowMs + rootDays * dayMs,
    extensions: [
      extension(id_ce_basicConstraints, true, new BasicConstraints({ cA: true, pathLenConstraint: 0 })),
      extension(id_ce_keyUsage, true, new KeyUsage(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign)),
      extension(id_ce_nameConstraints, true, onlyUnder(domain)),
      extension(id_ce_extKeyUsage, false, new ExtendedKeyUsage([id_kp_serverAuth])),
      extension(id_ce_subjectKeyIdentifier, false, new SubjectKeyIdentifier(subjectKey.identifier)),
    ],
  });
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

/** The root that a pair holds, or in words why it cannot sign for the domain. */
export function readRoot({ cert, key }: PemPair, domain: string, nowMs: number): Root | string {
  let root: Root;
  try {
    root = { cert, certificate: new X509Certificate(cert), signingKey: createPrivateKey(key) };
  } catch {
    return 'not_readable';
  }
  const { certificate, signingKey } = root;
  if (!certificate.checkPrivateKey(signingKey)) return 'key_does_not_match';
  if (!certificate.ca || !certificate.verify(createPublicKey(signingKey))) return 'not_an_authority';
  if (nowMs >= certificate.validToDate.getTime()) return 'expired';
  if (!isConstrainedTo(certificate, domain)) return 'made_for_another_domain';
  return root;
}

function isConstrainedTo(certificate: X509Certificate, domain: string): boolean {
  const { extensions } = AsnConvert.parse(certificate.raw, Certificate).tbsCertificate;
  const constraint = extensions?.find(({ extnID }) => extnID === id_ce_nameConstraints);
  return (
    constraint?.critical === true &&
    encoded(onlyUnder(domain)).join() === new Uint8Array(constraint.extnValue.buffer).join()
  );
}
