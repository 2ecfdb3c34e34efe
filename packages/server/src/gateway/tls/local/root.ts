import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { hostname } from 'node:os';
import { AsnConvert } from '@peculiar/asn1-schema';
import {
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  GeneralName,
  GeneralSubtree,
  GeneralSubtrees,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_nameConstraints,
  id_ce_subjectKeyIdentifier,
  id_kp_serverAuth,
  KeyUsage,
  KeyUsageFlags,
  NameConstraints,
  SubjectKeyIdentifier,
} from '@peculiar/asn1-x509';
import { oneLine } from '../../../core/errors/api-error.ts';
import type { Log } from '../../../core/ports/runtime.ts';
import { CertificateError, type PemPair } from '../certificates.ts';
import { type RootFolder, rootFolder } from './root-folder.ts';
import { extension, keyIdentifier, mayflyName, publicKeyInfo, signCertificate } from './x509.ts';

const dayMs = 86_400_000;
const rootDays = 3_650;
const maxCommonNameLength = 64;

/** The local certificate authority: its certificate and its signing key. */
export interface Root {
  /** PEM. */
  readonly cert: string;
  readonly certificate: X509Certificate;
  /** Secret. */
  readonly signingKey: KeyObject;
}

export interface OpenRootOptions {
  readonly domain: string;
  readonly dataDir: string;
  readonly log: Log;
  readonly nowMs: () => number;
}

export interface OpenRoot {
  readonly root: Root;
  readonly certFile: string;
}

/** Opens the authority in the data folder, creating it if there is none. One that cannot sign for the domain is replaced with a warning. */
export function openRoot({ domain, dataDir, log, nowMs }: OpenRootOptions): OpenRoot {
  const folder = rootFolder(dataDir);
  const { certFile } = folder;
  const stored = folder.exists() ? readStored(folder, domain, nowMs()) : undefined;
  if (typeof stored === 'object') return { root: stored, certFile };
  if (stored !== undefined) log.warn({ reason: stored, file: certFile }, 'preview_authority_replaced');
  const root = createStored(folder, domain, nowMs());
  log.info({ file: certFile, expires_at: root.certificate.validToDate.toISOString() }, 'preview_authority_created');
  return { root, certFile };
}

/** Creates a root that can sign only TLS server certificates for the domain and the names below it. */
export function createRoot(domain: string, hostName: string, nowMs: number): PemPair {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicKey = publicKeyInfo(keys.publicKey);
  const name = mayflyName(`Mayfly previews on ${hostName}`.slice(0, maxCommonNameLength));
  const cert = signCertificate({
    subject: name,
    issuer: name,
    publicKey,
    signingKey: keys.privateKey,
    // Backdated by a day, because clients' clocks may be slow.
    notBeforeMs: nowMs - dayMs,
    notAfterMs: nowMs + rootDays * dayMs,
    extensions: [
      extension(id_ce_basicConstraints, true, new BasicConstraints({ cA: true, pathLenConstraint: 0 })),
      extension(id_ce_keyUsage, true, new KeyUsage(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign)),
      extension(id_ce_nameConstraints, true, constraintsFor(domain)),
      extension(id_ce_extKeyUsage, false, new ExtendedKeyUsage([id_kp_serverAuth])),
      extension(id_ce_subjectKeyIdentifier, false, new SubjectKeyIdentifier(keyIdentifier(publicKey))),
    ],
  });
  return { cert, key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

/** Parses a root, or returns the reason why it cannot sign for the domain. */
export function parseRoot({ cert, key }: PemPair, domain: string, nowMs: number): Root | string {
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

/** Permits the domain and the names below it. Excludes all addresses: a constraint on one kind of name does not limit the others. */
function constraintsFor(domain: string): NameConstraints {
  const subtree = (base: Partial<GeneralName>) => new GeneralSubtree({ base: new GeneralName(base) });
  return new NameConstraints({
    permittedSubtrees: new GeneralSubtrees([subtree({ dNSName: domain })]),
    excludedSubtrees: new GeneralSubtrees([subtree({ iPAddress: '0.0.0.0/0' }), subtree({ iPAddress: '::/0' })]),
  });
}

function isConstrainedTo(certificate: X509Certificate, domain: string): boolean {
  const { extensions } = AsnConvert.parse(certificate.raw, Certificate).tbsCertificate;
  const constraints = extensions?.find(({ extnID }) => extnID === id_ce_nameConstraints);
  if (constraints?.critical !== true) return false;
  const expected = Buffer.from(AsnConvert.serialize(constraintsFor(domain)));
  return expected.equals(new Uint8Array(constraints.extnValue.buffer));
}

function readStored(folder: RootFolder, domain: string, nowMs: number): Root | string {
  const pair = folder.read();
  return pair === undefined ? 'not_readable' : parseRoot(pair, domain, nowMs);
}

function createStored(folder: RootFolder, domain: string, nowMs: number): Root {
  const pair = createRoot(domain, hostname(), nowMs);
  try {
    folder.write(pair, nowMs);
  } catch (cause) {
    throw new CertificateError(
      `Cannot write the authority for preview certificates to ${folder.certFile} (${oneLine(cause)}). ` +
        'Check free space and permissions of the data folder, or set MAYFLY_TLS_CERT and MAYFLY_TLS_KEY.',
      { cause },
    );
  }
  const root = parseRoot(pair, domain, nowMs);
  if (typeof root === 'string') {
    throw new CertificateError(`The new authority for preview certificates cannot be used (${root}).`);
  }
  return root;
}
