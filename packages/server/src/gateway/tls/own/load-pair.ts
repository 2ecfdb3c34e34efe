import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContext } from 'node:tls';
import { oneLine } from '../../../core/errors/one-line.ts';
import { CertificateError } from '../certificate-error.ts';
import type { PemPair } from '../certificate-source.ts';

/** Where the operator's certificate (with its chain) and its key lie, as PEM. */
export interface PairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A certificate of the operator's, ready to be served. */
export interface LoadedPair extends PemPair {
  readonly certificate: X509Certificate;
  readonly context: SecureContext;
}

/** Reads and checks both files. Throws a CertificateError that says which is wrong with what. */
export async function loadPair({ certFile, keyFile }: PairFiles): Promise<LoadedPair> {
  const cert = await readText(certFile, 'MAYFLY_TLS_CERT');
  const key = await readText(keyFile, 'MAYFLY_TLS_KEY');
  const certificate = parseCertificate(cert, certFile);
  if (!certificate.checkPrivateKey(parseKey(key, keyFile))) {
    throw new CertificateError(
      `The key in ${keyFile} (MAYFLY_TLS_KEY) does not belong to the certificate in ${certFile} (MAYFLY_TLS_CERT). ` +
        'Give both files of one certificate; the first certificate in the file must be the server’s own.',
    );
  }
  try {
    return { cert, key, certificate, context: createSecureContext({ cert, key, minVersion: 'TLSv1.2' }) };
  } catch (cause) {
    throw new CertificateError(`The certificate in ${certFile} cannot be served (${oneLine(cause)}).`, { cause });
  }
}

async function readText(file: string, setting: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new CertificateError(`${file} cannot be read (${oneLine(cause)}). Correct ${setting} or the file's rights.`, {
      cause,
    });
  }
}

function parseCertificate(pem: string, file: string): X509Certificate {
  try {
    if (!pem.includes('-----BEGIN CERTIFICATE-----')) throw new Error('it has no BEGIN CERTIFICATE line');
    return new X509Certificate(pem);
  } catch (cause) {
    throw new CertificateError(
      `${file} (MAYFLY_TLS_CERT) holds no PEM certificate (${oneLine(cause)}). Give the full chain as PEM.`,
      { cause },
    );
  }
}

function parseKey(pem: string, file: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    const advice = /ENCRYPTED/.test(pem) ? 'It is encrypted: give it without a passphrase.' : 'Give the key as PEM.';
    // The cause is left out: nothing of a key's file may be printed.
    throw new CertificateError(`${file} (MAYFLY_TLS_KEY) holds no PEM private key that can be used. ${advice}`, {
      cause: cause instanceof Error && 'code' in cause ? cause.code : undefined,
    });
  }
}
