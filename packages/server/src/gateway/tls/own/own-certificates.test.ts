import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type RecordingLog, recordingLog } from '../../../../test/gateway/tls/recording-log.ts';
import { serveTls } from '../../../../test/gateway/tls/tls-trial.ts';
import { leafMinter } from '../authority/leaf.ts';
import { makeRoot, readRoot } from '../authority/root.ts';
import { CertificateError } from '../certificate-error.ts';
import type { PemPair } from '../certificate-source.ts';
import { type CertificateOptions, openCertificates } from '../certificates.ts';

const dayMs = 86_400_000;
const domain = 'preview.example.com';
const wildcard = `*.${domain}`;
const root = makeRoot('example.com', 'a public authority', Date.now() - 200 * dayMs);
let folder: string;
let log: RecordingLog;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-tls-'));
  log = recordingLog();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A certificate as an authority would give it, on a key of its own. */
function bought(name = wildcard, nowMs = Date.now()): PemPair {
  const authority = readRoot(root, 'example.com', Date.now());
  if (typeof authority === 'string') throw new Error(authority);
  return leafMinter(authority)(name, nowMs);
}

const at = (name: string) => join(folder, name);
function put({ cert, key }: PemPair, within = '.'): void {
  mkdirSync(at(within), { recursive: true });
  writeFileSync(at(join(within, 'tls.crt')), cert);
  writeFileSync(at(join(within, 'tls.key')), key);
}
function replace(name: string, text: string): void {
  writeFileSync(at(`${name}.new`), text);
  renameSync(at(`${name}.new`), at(name));
}
const open = (options: Partial<CertificateOptions> = {}) =>
  openCertificates({
    domain,
    dataDir: at('data'),
    files: { certFile: at('tls.crt'), keyFile: at('tls.key') },
    log,
    reloadPeriodMs: 5,
    ...options,
  });
const eventually = (check: () => void) => vi.waitFor(check, { timeout: 5_000, interval: 5 });

test('the certificate of the operator is shown for every name', async () => {
  put(bought());
  using certificates = await open();
  await using server = await serveTls(certificates);
  expect(await server.greet(root.cert, `abc.${domain}`)).toMatchObject({ altNames: `DNS:${wildcard}` });
  expect(await server.greet(root.cert)).toMatchObject({ altNames: `DNS:${wildcard}` });
  expect(certificates.rootFile).toBeUndefined();
  expect(log.lines).toEqual([]);
});

test('a missing file is named', async () => {
  await expect(open()).rejects.toThrow(/tls\.crt cannot be read .*ENOENT.*MAYFLY_TLS_CERT/);
  writeFileSync(at('tls.crt'), bought().cert);
  await expect(open()).rejects.toThrow(/tls\.key cannot be read .*ENOENT.*MAYFLY_TLS_KEY/);
  await expect(open()).rejects.toThrow(CertificateError);
});

test('a file that is no PEM is named, and nothing of a key is shown', async () => {
  const pair = bought();
  put({ cert: 'nothing', key: pair.key });
  await expect(open()).rejects.toThrow(/tls\.crt \(MAYFLY_TLS_CERT\) holds no PEM certificate/);
  put({ cert: pair.key, key: pair.cert });
  await expect(open()).rejects.toThrow(/tls\.crt \(MAYFLY_TLS_CERT\) holds no PEM certificate/);
  put({ cert: pair.cert, key: pair.key.slice(0, 100) });
  await expect(open()).rejects.toThrow(/tls\.key \(MAYFLY_TLS_KEY\) holds no PEM private key that can be used. Give/);
  put({ cert: pair.cert, key: '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n' });
  await expect(open()).rejects.toThrow(/It is encrypted: give it without a passphrase/);
});

test('a key of another certificate is refused', async () => {
  put({ cert: bought().cert, key: bought().key });
  await expect(open()).rejects.toThrow(/does not belong to the certificate/);
});

test.each([
  ['expired', () => bought(wildcard, Date.now() - 91 * dayMs)],
  ['not_valid_yet', () => bought(wildcard, Date.now() + dayMs)],
  ['does_not_cover_previews', () => bought(domain)],
] as const)('a certificate that is odd is served with a warning: %s', async (doubt, pair) => {
  put(pair());
  using _certificates = await open();
  expect(log.lines).toMatchObject([{ level: 'warn', event: 'certificate_doubtful', fields: { doubts: [doubt] } }]);
});

test('a renewed certificate is taken by itself when its files are renamed into place', async () => {
  put(bought());
  using certificates = await open();
  await using server = await serveTls(certificates);
  const first = await server.greet(root.cert, `abc.${domain}`);
  put(bought(), 'new');
  renameSync(at('new/tls.crt'), at('tls.crt'));
  renameSync(at('new/tls.key'), at('tls.key'));
  await eventually(() => expect(log.events('info')).toEqual(['certificate_reloaded']));
  const second = await server.greet(root.cert, `abc.${domain}`);
  expect(second.serial).not.toBe(first.serial);
  const ends_at = new Date(second.validToMs).toISOString();
  expect(log.lines.at(-1)).toMatchObject({ event: 'certificate_reloaded', fields: { ends_at } });
});

test('a renewed certificate is taken when a link on the way is swapped', async () => {
  put(bought(), '..one');
  put(bought(), '..two');
  symlinkSync('..one', at('..data'));
  symlinkSync('..data/tls.crt', at('tls.crt'));
  symlinkSync('..data/tls.key', at('tls.key'));
  using certificates = await open();
  const first = await certificates.contextFor(undefined);
  symlinkSync('..two', at('..data_tmp'));
  renameSync(at('..data_tmp'), at('..data'));
  await eventually(() => expect(log.events('info')).toEqual(['certificate_reloaded']));
  expect(await certificates.contextFor(undefined)).not.toBe(first);
  expect(log.events('warn')).toEqual([]);
});

test('a pair that does not fit is said once, and the old certificate goes on', async () => {
  put(bought());
  using certificates = await open();
  const first = await certificates.contextFor(undefined);
  const next = bought();
  replace('tls.crt', next.cert);
  await eventually(() => expect(log.events('warn')).toEqual(['certificate_not_reloaded']));
  expect(await certificates.contextFor(undefined)).toBe(first);
  replace('tls.key', next.key);
  await eventually(() => expect(log.events('info')).toEqual(['certificate_reloaded']));
  expect(log.events('warn')).toEqual(['certificate_not_reloaded']);
  expect(await certificates.contextFor(undefined)).not.toBe(first);
});

test('a file that is away for a while disturbs nobody', async () => {
  put(bought());
  using certificates = await open();
  await using server = await serveTls(certificates);
  renameSync(at('tls.key'), at('away'));
  await eventually(() => expect(log.events('warn')).toEqual(['certificate_not_reloaded']));
  const first = await server.greet(root.cert, `abc.${domain}`);
  renameSync(at('away'), at('tls.key'));
  expect((await server.greet(root.cert, `abc.${domain}`)).serial).toBe(first.serial);
});

test('nobody looks at the files any more once they are let go', async () => {
  put(bought());
  const certificates = await open();
  const context = await certificates.contextFor(undefined);
  certificates[Symbol.dispose]();
  using _still = await open();
  const next = bought();
  replace('tls.crt', next.cert);
  replace('tls.key', next.key);
  await eventually(() => expect(log.events('info')).toEqual(['certificate_reloaded']));
  expect(await certificates.contextFor(undefined)).toBe(context);
});
