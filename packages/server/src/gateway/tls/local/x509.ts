import { hash, type KeyObject, randomBytes, sign } from 'node:crypto';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  Certificate,
  Extension,
  Extensions,
  Name,
  RelativeDistinguishedName,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509';

const organization = '2.5.4.10';
const commonName = '2.5.4.3';
const ecdsaWithSha256 = new AlgorithmIdentifier({ algorithm: '1.2.840.10045.4.3.2' });

/** The content of a certificate and the key that signs it. */
export interface CertificateFields {
  readonly subject: Name;
  readonly issuer: Name;
  readonly publicKey: SubjectPublicKeyInfo;
  /** An ECDSA P-256 private key. */
  readonly signingKey: KeyObject;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly extensions: readonly Extension[];
}

/** Signs a certificate with a random serial number and returns it as PEM. */
export function signCertificate(fields: CertificateFields): string {
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: randomSerial(),
    signature: ecdsaWithSha256,
    issuer: fields.issuer,
    validity: new Validity({ notBefore: new Date(fields.notBeforeMs), notAfter: new Date(fields.notAfterMs) }),
    subject: fields.subject,
    subjectPublicKeyInfo: fields.publicKey,
    extensions: new Extensions([...fields.extensions]),
  });
  const signature = sign('sha256', new Uint8Array(AsnConvert.serialize(tbsCertificate)), fields.signingKey);
  const signatureValue = toArrayBuffer(signature);
  return toPem(
    AsnConvert.serialize(new Certificate({ tbsCertificate, signatureAlgorithm: ecdsaWithSha256, signatureValue })),
  );
}

/** The distinguished name `O=Mayfly, CN=<common>`. */
export function mayflyName(common: string): Name {
  const part = (type: string, utf8String: string) =>
    new RelativeDistinguishedName([new AttributeTypeAndValue({ type, value: new AttributeValue({ utf8String }) })]);
  return new Name([part(organization, 'Mayfly'), part(commonName, common)]);
}

/** An extension with its value serialised. */
export function extension(extnID: string, critical: boolean, value: unknown): Extension {
  return new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
}

export function publicKeyInfo(publicKey: KeyObject): SubjectPublicKeyInfo {
  return AsnConvert.parse(publicKey.export({ type: 'spki', format: 'der' }), SubjectPublicKeyInfo);
}

/** The identifier by which certificates refer to a key (RFC 5280, 4.2.1.2, method 1). */
export function keyIdentifier({ subjectPublicKey }: SubjectPublicKeyInfo): ArrayBuffer {
  return toArrayBuffer(hash('sha1', new Uint8Array(subjectPublicKey), 'buffer'));
}

/** 126 random bits, positive and without a leading zero byte. */
function randomSerial(): ArrayBuffer {
  const serial = randomBytes(16);
  serial.writeUInt8((serial.readUInt8(0) & 0x3f) | 0x40, 0);
  return toArrayBuffer(serial);
}

function toArrayBuffer(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

function toPem(certificate: ArrayBuffer): string {
  const lines =
    Buffer.from(certificate)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
