import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { serveTls } from '../../../../test/gateway/tls-server.ts';
import { RecordedLog } from '../../../../test/recorded-log.ts';
import { CertificateError, type PemPair } from '../certificates.ts';
import { leafIssuer } from '../local/leaf.ts';
import { createRoot, parseRoot } from '../local/root.ts';
import { type CertificateOptions, openCertificates } from '../open-certificates.ts';

const dayMs = 86_400_000;
const domain = 'preview.example.com';
const wildcard = `*.${domain}`;
const root = createRoot('example.com', 'a public authority', Date.now() - 200 * dayMs);
let folder: string;
let log: RecordedLog;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-tls-'));
  log = new RecordedLog();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A certificate as a public authority issues it, with a key of its own. */
function purchased(name = wildcard, nowMs = Date.now()): PemPair {
  const authority = parseRoot(root, 'example.com', Date.now());
  if (typeof authority === 'string') throw new Error(authority);
  return leafIssuer(authority)(name, nowMs);
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
const eventually = (check: () => void) => vi.waitFor(check, { timeout: 30_000, interval: 5 });

test('serves the certificate of the operator for every name', async () => {
  put(purchased());
  using certificates = await open();
  await using server = await serveTls(certificates);
  expect(await server.greet(root.cert, `abc.${domain}`)).toMatchObject({ altNames: `DNS:${wildcard}` });
  expect(await server.greet(root.cert)).toMatchObject({ altNames: `DNS:${wildcard}` });
  expect(certificates.rootFile).toBeUndefined();
  expect(log.lines).toEqual([]);
});

test('the error names a missing file', async () => {
  await expect(open()).rejects.toThrow(/Cannot read .*tls\.crt .*ENOENT.*MAYFLY_TLS_CERT/);
  writeFileSync(at('tls.crt'), purchased().cert);
  await expect(open()).rejects.toThrow(/Cannot read .*tls\.key .*ENOENT.*MAYFLY_TLS_KEY/);
  await expect(open()).rejects.toThrow(CertificateError);
});

test('the error names a file that is not PEM and shows nothing of a key', async () => {
  const pair = purchased();
  put({ cert: 'nothing', key: pair.key });
  await expect(open()).rejects.toThrow(/tls\.crt \(MAYFLY_TLS_CERT\) is not a PEM certificate/);
  put({ cert: pair.key, key: pair.cert });
  await expect(open()).rejects.toThrow(/tls\.crt \(MAYFLY_TLS_CERT\) is not a PEM certificate/);
  put({ cert: pair.cert, key: pair.key.slice(0, 100) });
  await expect(open()).rejects.toThrow(/tls\.key \(MAYFLY_TLS_KEY\) is not a usable PEM private key. Provide/);
  put({ cert: pair.cert, key: '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n' });
  await expect(open()).rejects.toThrow(/It is encrypted. Provide it without a passphrase/);
});

test('refuses a key that belongs to another certificate', async () => {
  put({ cert: purchased().cert, key: purchased().key });
  // It may be half of a renewal.
  await expect(open()).rejects.toMatchObject({
    message: expect.stringContaining('does not match the certificate') as string,
    isTemporary: true,
  });
});

test.each([
  ['expired', () => purchased(wildcard, Date.now() - 91 * dayMs)],
  ['not_valid_yet', () => purchased(wildcard, Date.now() + dayMs)],
  ['does_not_cover_previews', () => purchased(domain)],
] as const)('serves a certificate with the warning %s', async (warning, pair) => {
  put(pair());
  using _certificates = await open();
  expect(log.lines).toMatchObject([
    { level: 'warn', event: 'certificate_warnings_found', fields: { warnings: [warning] } },
  ]);
});

test('reloads a certificate whose files were replaced by a rename', async () => {
  put(purchased());
  using certificates = await open();
  await using server = await serveTls(certificates);
  const first = await server.greet(root.cert, `abc.${domain}`);
  put(purchased(), 'new');
  renameSync(at('new/tls.crt'), at('tls.crt'));
  renameSync(at('new/tls.key'), at('tls.key'));
  await eventually(() => expect(log.eventsAt('info')).toEqual(['certificate_reloaded']));
  const second = await server.greet(root.cert, `abc.${domain}`);
  expect(second.serial).not.toBe(first.serial);
  const expires_at = new Date(second.validToMs).toISOString();
  expect(log.lines.at(-1)).toMatchObject({ event: 'certificate_reloaded', fields: { expires_at } });
});

test('reloads a certificate when a symbolic link on its path is swapped', async () => {
  put(purchased(), '..one');
  put(purchased(), '..two');
  symlinkSync('..one', at('..data'));
  symlinkSync('..data/tls.crt', at('tls.crt'));
  symlinkSync('..data/tls.key', at('tls.key'));
  using certificates = await open();
  const first = await certificates.contextFor(undefined);
  symlinkSync('..two', at('..data_tmp'));
  renameSync(at('..data_tmp'), at('..data'));
  await eventually(() => expect(log.eventsAt('info')).toEqual(['certificate_reloaded']));
  expect(await certificates.contextFor(undefined)).not.toBe(first);
  expect(log.eventsAt('warn')).toEqual([]);
});

test('logs a mismatched pair once and keeps serving the old certificate', async () => {
  put(purchased());
  using certificates = await open();
  const first = await certificates.contextFor(undefined);
  const next = purchased();
  replace('tls.crt', next.cert);
  await eventually(() => expect(log.eventsAt('warn')).toEqual(['certificate_reload_failed']));
  expect(await certificates.contextFor(undefined)).toBe(first);
  replace('tls.key', next.key);
  await eventually(() => expect(log.eventsAt('info')).toEqual(['certificate_reloaded']));
  expect(log.eventsAt('warn')).toEqual(['certificate_reload_failed']);
  expect(await certificates.contextFor(undefined)).not.toBe(first);
});

test('logs each renewal once, however its two files fall between two looks', async () => {
  put(purchased());
  using _certificates = await open({ reloadPeriodMs: 1 });
  for (let renewal = 1; renewal <= 20; renewal += 1) {
    const next = purchased();
    replace('tls.crt', next.cert);
    await new Promise((resolve) => setTimeout(resolve, renewal / 4));
    replace('tls.key', next.key);
    await eventually(() => expect(log.eventsAt('info')).toHaveLength(renewal));
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(log.eventsAt('info')).toHaveLength(renewal);
  }
});

test('keeps serving while a file is missing', async () => {
  put(purchased());
  using certificates = await open();
  await using server = await serveTls(certificates);
  renameSync(at('tls.key'), at('away'));
  await eventually(() => expect(log.eventsAt('warn')).toEqual(['certificate_reload_failed']));
  const first = await server.greet(root.cert, `abc.${domain}`);
  renameSync(at('away'), at('tls.key'));
  expect((await server.greet(root.cert, `abc.${domain}`)).serial).toBe(first.serial);
});

test('stops watching the files once disposed', async () => {
  put(purchased());
  const certificates = await open();
  const context = await certificates.contextFor(undefined);
  certificates[Symbol.dispose]();
  using _still = await open();
  const next = purchased();
  replace('tls.crt', next.cert);
  replace('tls.key', next.key);
  await eventually(() => expect(log.eventsAt('info')).toEqual(['certificate_reloaded']));
  expect(await certificates.contextFor(undefined)).toBe(context);
});
