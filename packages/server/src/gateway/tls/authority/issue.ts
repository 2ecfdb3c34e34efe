import { hash, type KeyObject, randomBytes, sign } from 'node:crypto';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  Extension,
  Name,
  RelativeDistinguishedName,
  SubjectPublicKeyInfo,
  Validity,
} from '@peculiar/asn1-x509';
import { der, tags } from './der.ts';

const organization = '2.5.4.10';
const commonName = '2.5.4.3';
const ecdsaWithSha256 = encoded(new AlgorithmIdentifier({ algorithm: '1.2.840.10045.4.3.2' }));
const version3 = der(tags.version, der(tags.integer, Buffer.of(2)));
const noUnusedBits = Buffer.of(0);

/** A public key as certificates hold it. */
export interface SubjectKey {
  /** DER. */
  readonly info: Uint8Array;
  /** How certificates refer to it: a hash of it. */
  readonly identifier: ArrayBuffer;
}

/** What a certificate says, and who signs it. What stays the same from one to the next is encoded once, by the caller. */
export interface CertificateFields {
  /** DER, as are issuer and extensions. */
  readonly subject: Uint8Array;
  readonly issuer: Uint8Array;
  readonly subjectKey: SubjectKey;
  /** Of an ECDSA P-256 key. */
  readonly signingKey: KeyObject;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly extensions: readonly Uint8Array[];
}

/** Signs a certificate under a random serial number; PEM. */
export function issue(fields: CertificateFields): string {
  const validity = new Validity({
    notBefore: wholeSecond(fields.notBeforeMs),
    notAfter: wholeSecond(fields.notAfterMs),
  });
  const content = der(
    tags.sequence,
    version3,
    der(tags.integer, randomSerial()),
    ecdsaWithSha256,
    fields.issuer,
    encoded(validity),
    fields.subject,
    fields.subjectKey.info,
    der(tags.extensions, der(tags.sequence, ...fields.extensions)),
  );
  const signature = sign('sha256', content, fields.signingKey);
  return toPem(der(tags.sequence, content, ecdsaWithSha256, der(tags.bitString, noUnusedBits, signature)));
}

/** A distinguished name of Mayfly's, e.g. `O=Mayfly, CN=Mayfly preview`; DER. */
export function mayflyName(common: string): Uint8Array {
  const part = (type: string, utf8String: string) =>
    new RelativeDistinguishedName([new AttributeTypeAndValue({ type, value: new AttributeValue({ utf8String }) })]);
  return encoded(new Name([part(organization, 'Mayfly'), part(commonName, common)]));
}

/** An extension from its id and its ASN.1 value; DER. */
export function extension(extnID: string, critical: boolean, value: unknown): Uint8Array {
  return encoded(new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) }));
}

/** A key made ready to be put into certificates. */
export function subjectKeyOf(publicKey: KeyObject): SubjectKey {
  const info = publicKey.export({ type: 'spki', format: 'der' });
  const { subjectPublicKey } = AsnConvert.parse(info, SubjectPublicKeyInfo);
  const digest = hash('sha1', new Uint8Array(subjectPublicKey), 'buffer');
  return { info, identifier: new Uint8Array(digest).buffer };
}

/** A value of the schema as DER. */
export function encoded(value: unknown): Uint8Array {
  return new Uint8Array(AsnConvert.serialize(value));
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

function toPem(certificate: Buffer): string {
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
