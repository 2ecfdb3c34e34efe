import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContext } from 'node:tls';
import { oneLine } from '../../../core/errors/api-error.ts';
import { CertificateError, type PemPair } from '../certificates.ts';

/** The operator's files: the certificate with its chain, and its key, as PEM. */
export interface PairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** The operator's certificate, ready to be served. */
export interface LoadedPair extends PemPair {
  readonly certificate: X509Certificate;
  readonly context: SecureContext;
}

/** Reads and checks both files. Rejects with a CertificateError that names the file and the problem. */
export async function loadPair({ certFile, keyFile }: PairFiles): Promise<LoadedPair> {
  const cert = await readText(certFile, 'MAYFLY_TLS_CERT');
  const key = await readText(keyFile, 'MAYFLY_TLS_KEY');
  const certificate = parseCertificate(cert, certFile);
  if (!certificate.checkPrivateKey(parseKey(key, keyFile))) {
    throw new CertificateError(
      `The key in ${keyFile} (MAYFLY_TLS_KEY) does not match the certificate in ${certFile} (MAYFLY_TLS_CERT). ` +
        'Set both to the files of one certificate. The server certificate must come first in its file.',
      { isTemporary: true },
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
    throw new CertificateError(
      `Cannot read ${file} (${oneLine(cause)}). Check ${setting} and the file's permissions.`,
      {
        cause,
      },
    );
  }
}

function parseCertificate(pem: string, file: string): X509Certificate {
  try {
    if (!pem.includes('-----BEGIN CERTIFICATE-----')) throw new Error('it has no BEGIN CERTIFICATE line');
    return new X509Certificate(pem);
  } catch (cause) {
    throw new CertificateError(
      `${file} (MAYFLY_TLS_CERT) is not a PEM certificate (${oneLine(cause)}). Provide the full chain as PEM.`,
      { cause },
    );
  }
}

function parseKey(pem: string, file: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    const advice = /ENCRYPTED/.test(pem)
      ? 'It is encrypted. Provide it without a passphrase.'
      : 'Provide the key as PEM.';
    // Only the error code is kept as the cause: no content of a key file may be printed.
    throw new CertificateError(`${file} (MAYFLY_TLS_KEY) is not a usable PEM private key. ${advice}`, {
      cause: cause instanceof Error && 'code' in cause ? cause.code : undefined,
    });
  }
}
