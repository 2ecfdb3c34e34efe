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

const ecdsaWithSha256 = '1.2.840.10045.4.3.2';
const organization = '2.5.4.10';
const commonName = '2.5.4.3';

/** A public key as certificates hold it. */
export interface SubjectKey {
  readonly info: SubjectPublicKeyInfo;
  /** How certificates refer to it: a hash of it. */
  readonly identifier: ArrayBuffer;
}

/** What a certificate says, and who signs it. */
export interface CertificateFields {
  readonly subject: Name;
  readonly issuer: Name;
  readonly subjectKey: SubjectKey;
  /** Of an ECDSA P-256 key. */
  readonly signingKey: KeyObject;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly extensions: readonly Extension[];
}

/** Signs a certificate under a random serial number; PEM. */
export function issue(fields: CertificateFields): string {
  const algorithm = new AlgorithmIdentifier({ algorithm: ecdsaWithSha256 });
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: exactBuffer(randomSerial()),
    signature: algorithm,
    issuer: fields.issuer,
    validity: new Validity({ notBefore: wholeSecond(fields.notBeforeMs), notAfter: wholeSecond(fields.notAfterMs) }),
    subject: fields.subject,
    subjectPublicKeyInfo: fields.subjectKey.info,
    extensions: new Extensions([...fields.extensions]),
  });
  const signature = sign('sha256', new Uint8Array(AsnConvert.serialize(tbsCertificate)), fields.signingKey);
  const certificate = new Certificate({
    tbsCertificate,
    signatureAlgorithm: algorithm,
    signatureValue: exactBuffer(signature),
  });
  return toPem(AsnConvert.serialize(certificate));
}

/** A distinguished name of Mayfly's, e.g. `O=Mayfly, CN=Mayfly preview`. */
export function mayflyName(common: string): Name {
  const part = (type: string, utf8String: string) =>
    new RelativeDistinguishedName([new AttributeTypeAndValue({ type, value: new AttributeValue({ utf8String }) })]);
  return new Name([part(organization, 'Mayfly'), part(commonName, common)]);
}

/** An extension from its id and its ASN.1 value. */
export function extension(extnID: string, critical: boolean, value: unknown): Extension {
  return new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
}

/** A key made ready to be put into certificates. */
export function subjectKeyOf(publicKey: KeyObject): SubjectKey {
  const info = AsnConvert.parse(publicKey.export({ type: 'spki', format: 'der' }), SubjectPublicKeyInfo);
  return { info, identifier: exactBuffer(hash('sha1', new Uint8Array(info.subjectPublicKey), 'buffer')) };
}

/** 126 random bits, positive and without a leading zero byte. */
function randomSerial(): Buffer {
  const serial = randomBytes(16);
  serial.writeUInt8((serial.readUInt8(0) & 0x3f) | 0x40, 0);
  return serial;
}

function wholeSecond(ms: number): Date {
  return new Date(Math.floor(ms / 1000) * 1000);
}

/** The bytes in a buffer of their own: Node's may share one. */
function exactBuffer(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

function toPem(der: ArrayBuffer): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
