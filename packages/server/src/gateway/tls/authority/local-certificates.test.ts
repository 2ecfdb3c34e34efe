import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type RecordingLog, recordingLog } from '../../../../test/gateway/tls/recording-log.ts';
import { servePair, serveTls } from '../../../../test/gateway/tls/tls-trial.ts';
import { CertificateError } from '../certificate-error.ts';
import { type CertificateOptions, openCertificates } from '../certificates.ts';
import { leafMinter } from './leaf.ts';
import { openLocalCertificates } from './local-certificates.ts';
import { makeRoot, readRoot } from './root.ts';

const dayMs = 86_400_000;
let dataDir: string;
let log: RecordingLog;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'mayfly-authority-'));
  log = recordingLog();
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const open = (options: Partial<CertificateOptions> = {}) =>
  openCertificates({ domain: 'localhost', dataDir, files: undefined, log, ...options });
const rootFile = () => join(dataDir, 'preview-authority', 'root.crt');
const keyFile = () => join(dataDir, 'preview-authority', 'root.key');
const rootText = () => readFileSync(rootFile(), 'utf8');
const replaced = () => readdirSync(dataDir).filter((name) => name.startsWith('preview-authority.'));

test('a client that trusts the root reaches any name under the domain', async () => {
  using certificates = await open();
  await using server = await serveTls(certificates);
  const seen = await server.greet(rootText(), 'k3jv7.localhost');
  expect(seen).toMatchObject({ protocol: 'TLSv1.3', altNames: 'DNS:k3jv7.localhost' });
  expect((await server.greet(rootText(), 'K3JV7.LOCALHOST')).serial).toBe(seen.serial);
  expect((await server.greet(rootText(), 'other.localhost')).serial).not.toBe(seen.serial);
});

test('the certificate of a name can be verified on its own and ends before clients find it too long', async () => {
  using certificates = await open({ domain: 'preview.example.com' });
  const root = new X509Certificate(rootText());
  const leaf = new X509Certificate((await certificates.pairForNoName()).cert);
  expect(leaf.verify(root.publicKey) && leaf.checkIssued(root)).toBe(true);
  expect(leaf.checkHost('preview.example.com', { subject: 'never' })).toBe('preview.example.com');
  expect(leaf.checkHost('example.com', { subject: 'never' })).toBeUndefined();
  expect(leaf.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
  const days = (leaf.validToDate.getTime() - leaf.validFromDate.getTime()) / dayMs;
  expect(days).toBeGreaterThan(89);
  expect(days).toBeLessThan(397);
});

test('a client that does not know the root refuses', async () => {
  using certificates = await open();
  await using server = await serveTls(certificates);
  const stranger = makeRoot('localhost', 'elsewhere', Date.now());
  await expect(server.greet(stranger.cert, 'abc.localhost')).rejects.toThrow(/self-signed|verify/);
});

test('no name, deep, foreign and hostile names get the certificate of the domain', async () => {
  using certificates = await open();
  const fallback = await certificates.contextFor('localhost');
  for (const name of [undefined, '', 'a.b.localhost', 'example.com', '127.0.0.1', 'x\0y', 'x'.repeat(70_000)]) {
    expect(await certificates.contextFor(name)).toBe(fallback);
  }
  await using server = await serveTls(certificates);
  expect((await server.greet(rootText())).altNames).toBe('DNS:localhost');
  await expect(server.greet(rootText(), 'example.com')).rejects.toThrow(/altnames/);
});

test.each(['example.com', 'evil-localhost', 'localhost.example.com'])(
  'a certificate for %s is refused even if the root signed it',
  async (name) => {
    using certificates = await open();
    expect(certificates.rootFile).toBe(rootFile());
    const root = readRoot({ cert: rootText(), key: readFileSync(keyFile(), 'utf8') }, 'localhost', Date.now());
    if (typeof root === 'string') throw new Error(root);
    await using server = await servePair(leafMinter(root)(name, Date.now()));
    await expect(server.greet(rootText(), name)).rejects.toThrow(/permitted subtree violation/);
  },
);

test('the root is for everybody to read, its key for nobody else', async () => {
  const umask = process.umask(0o077);
  using _certificates = await open().finally(() => process.umask(umask));
  const mode = (path: string) => statSync(path).mode & 0o777;
  expect(mode(join(dataDir, 'preview-authority'))).toBe(0o755);
  expect(mode(rootFile())).toBe(0o644);
  expect(mode(keyFile())).toBe(0o600);
});

test('the root says whose it is and lasts for ten years', async () => {
  using _certificates = await open();
  const root = new X509Certificate(rootText());
  expect(root.subject).toMatch(/^O=Mayfly\nCN=Mayfly previews on ./);
  expect(root.ca).toBe(true);
  expect(Math.round((root.validToDate.getTime() - Date.now()) / dayMs)).toBe(3_650);
});

test('the next start goes on with the same root', async () => {
  (await open())[Symbol.dispose]();
  const first = rootText();
  using certificates = await open();
  expect(rootText()).toBe(first);
  expect(log.events('info')).toEqual(['preview_authority_made']);
  await using server = await serveTls(certificates);
  expect((await server.greet(first, 'abc.localhost')).altNames).toBe('DNS:abc.localhost');
});

test('what a start that was killed left behind does not matter', async () => {
  (await open())[Symbol.dispose]();
  const half = join(dataDir, 'preview-authority.new');
  rmSync(join(dataDir, 'preview-authority'), { recursive: true });
  writeFileSync(half, 'half');
  using _certificates = await open();
  expect(new X509Certificate(rootText()).ca).toBe(true);
  expect(log.events('warn')).toEqual([]);
  expect(replaced()).toEqual([]);
});

const spoilt: readonly [reason: string, spoil: () => void, options?: Partial<CertificateOptions>][] = [
  ['made_for_another_domain', () => undefined, { domain: 'preview.example.com' }],
  ['expired', () => undefined, { nowMs: () => Date.now() + 3_651 * dayMs }],
  ['not_readable', () => rmSync(keyFile())],
  ['not_readable', () => writeFileSync(rootFile(), rootText().slice(0, 200))],
  ['key_does_not_match', () => writeFileSync(keyFile(), makeRoot('localhost', 'x', Date.now()).key)],
];

test.each(spoilt)('a root that is %s is replaced, said and kept beside', async (reason, spoil, options) => {
  (await open())[Symbol.dispose]();
  spoil();
  const old = rootText();
  using certificates = await open(options);
  expect(rootText()).not.toBe(old);
  expect(log.lines.filter(({ level }) => level === 'warn')).toMatchObject([
    { event: 'preview_authority_replaced', fields: { reason } },
  ]);
  expect(replaced()).toHaveLength(1);
  expect(readFileSync(join(dataDir, replaced()[0] ?? '', 'root.crt'), 'utf8')).toBe(old);
  expect(certificates.rootFile).toBe(rootFile());
});

test('an authority that is none is replaced', async () => {
  (await open())[Symbol.dispose]();
  const leaf = await open().then((certificates) => certificates.pairForNoName());
  writeFileSync(rootFile(), leaf.cert);
  writeFileSync(keyFile(), leaf.key);
  using _certificates = await open();
  expect(log.lines.at(-2)).toMatchObject({ level: 'warn', fields: { reason: 'not_an_authority' } });
});

test('a folder that takes no files is a reason that the operator can read', async () => {
  await expect(open({ dataDir: join(dataDir, 'missing') })).rejects.toThrow(CertificateError);
  await expect(open({ dataDir: join(dataDir, 'missing') })).rejects.toThrow(/preview-authority.*MAYFLY_TLS_CERT/);
});

test('clients that ask for one name at the same time share a certificate', async () => {
  using certificates = await open();
  const contexts = await Promise.all(Array.from({ length: 50 }, () => certificates.contextFor('abc.localhost')));
  expect(new Set(contexts).size).toBe(1);
});

test('a certificate is renewed long before it ends', async () => {
  let nowMs = Date.now() - 70 * dayMs;
  using certificates = await open({ nowMs: () => nowMs });
  await using server = await serveTls(certificates);
  const first = await server.greet(rootText(), 'abc.localhost');
  nowMs += 59 * dayMs;
  expect((await server.greet(rootText(), 'abc.localhost')).serial).toBe(first.serial);
  nowMs += 11 * dayMs;
  const second = await server.greet(rootText(), 'abc.localhost');
  expect(second.serial).not.toBe(first.serial);
  expect(second.validToMs).toBeGreaterThan(Date.now() + 80 * dayMs);
});

test('no certificate outlives the root', async () => {
  (await open())[Symbol.dispose]();
  const nearTheEnd = Date.now() + 3_640 * dayMs;
  using certificates = await open({ nowMs: () => nearTheEnd });
  const leaf = new X509Certificate((await certificates.pairForNoName()).cert);
  expect(leaf.validToDate).toEqual(new X509Certificate(rootText()).validToDate);
});

test('a flood of names leaves no more contexts than are kept, and nothing in the log', async () => {
  using certificates = openLocalCertificates({ domain: 'localhost', dataDir, log, nowMs: Date.now, contextsKept: 20 });
  const first = await certificates.contextFor('first.localhost');
  for (let index = 0; index < 19; index++) await certificates.contextFor(`flood-${index}.localhost`);
  expect(await certificates.contextFor('first.localhost')).toBe(first);
  for (let index = 0; index < 20; index++) await certificates.contextFor(`more-${index}.localhost`);
  expect(await certificates.contextFor('first.localhost')).not.toBe(first);
  expect(log.lines).toHaveLength(1);
}, 60_000);
