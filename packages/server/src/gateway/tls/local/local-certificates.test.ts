import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { servePair, serveTls } from '../../../../test/gateway/tls-server.ts';
import { RecordedLog } from '../../../../test/recorded-log.ts';
import { CertificateError } from '../certificates.ts';
import { type CertificateOptions, openCertificates } from '../open-certificates.ts';
import { leafIssuer } from './leaf.ts';
import { certifiedName, openLocalCertificates, renewingCache } from './local-certificates.ts';
import { createRoot, parseRoot } from './root.ts';

const dayMs = 86_400_000;
let dataDir: string;
let log: RecordedLog;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'mayfly-authority-'));
  log = new RecordedLog();
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

test('a leaf can be verified by itself and is valid for a period that clients accept', async () => {
  using certificates = await open({ domain: 'preview.example.com' });
  const root = new X509Certificate(rootText());
  const leaf = new X509Certificate((await certificates.defaultPair()).cert);
  expect(leaf.verify(root.publicKey) && leaf.checkIssued(root)).toBe(true);
  expect(leaf.checkHost('preview.example.com', { subject: 'never' })).toBe('preview.example.com');
  expect(leaf.checkHost('example.com', { subject: 'never' })).toBeUndefined();
  expect(leaf.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
  const days = (leaf.validToDate.getTime() - leaf.validFromDate.getTime()) / dayMs;
  expect(days).toBeGreaterThan(89);
  expect(days).toBeLessThan(397);
});

test('one wildcard certificate serves all names below a domain of two labels or more', async () => {
  using certificates = await open({ domain: 'preview.example.com' });
  await using server = await serveTls(certificates);
  const first = await server.greet(rootText(), 'abc.preview.example.com');
  const second = await server.greet(rootText(), 'random-name.preview.example.com');
  expect(first).toMatchObject({ altNames: 'DNS:*.preview.example.com', serial: second.serial });
  expect((await server.greet(rootText(), 'preview.example.com')).altNames).toBe('DNS:preview.example.com');
});

test('a client that does not trust the root refuses the connection', async () => {
  using certificates = await open();
  await using server = await serveTls(certificates);
  const stranger = createRoot('localhost', 'elsewhere', Date.now());
  await expect(server.greet(stranger.cert, 'abc.localhost')).rejects.toThrow(/self-signed|verify/);
});

test('missing, nested, foreign and hostile names get the certificate of the domain', async () => {
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
  'clients refuse a certificate for %s even if the root signed it',
  async (name) => {
    using certificates = await open();
    expect(certificates.rootFile).toBe(rootFile());
    const root = parseRoot({ cert: rootText(), key: readFileSync(keyFile(), 'utf8') }, 'localhost', Date.now());
    if (typeof root === 'string') throw new Error(root);
    await using server = await servePair(leafIssuer(root)(name, Date.now()));
    await expect(server.greet(rootText(), name)).rejects.toThrow(/permitted subtree violation/);
  },
);

test('the root certificate is world-readable, its key is private', async () => {
  const umask = process.umask(0o077);
  using _certificates = await open().finally(() => process.umask(umask));
  const mode = (path: string) => statSync(path).mode & 0o777;
  expect(mode(join(dataDir, 'preview-authority'))).toBe(0o755);
  expect(mode(rootFile())).toBe(0o644);
  expect(mode(keyFile())).toBe(0o600);
});

test('the root names its host and is valid for ten years', async () => {
  using _certificates = await open();
  const root = new X509Certificate(rootText());
  expect(root.subject).toMatch(/^O=Mayfly\nCN=Mayfly previews on ./);
  expect(root.ca).toBe(true);
  expect(Math.round((root.validToDate.getTime() - Date.now()) / dayMs)).toBe(3_650);
});

test('the next start uses the same root', async () => {
  (await open())[Symbol.dispose]();
  const first = rootText();
  using certificates = await open();
  expect(rootText()).toBe(first);
  expect(log.eventsAt('info')).toEqual(['preview_authority_created']);
  await using server = await serveTls(certificates);
  expect((await server.greet(first, 'abc.localhost')).altNames).toBe('DNS:abc.localhost');
});

test('ignores what an interrupted start left behind', async () => {
  (await open())[Symbol.dispose]();
  const partial = join(dataDir, 'preview-authority.new');
  rmSync(join(dataDir, 'preview-authority'), { recursive: true });
  writeFileSync(partial, 'partial');
  using _certificates = await open();
  expect(new X509Certificate(rootText()).ca).toBe(true);
  expect(log.eventsAt('warn')).toEqual([]);
  expect(replaced()).toEqual([]);
});

const unusable: readonly [reason: string, damage: () => void, options?: Partial<CertificateOptions>][] = [
  ['made_for_another_domain', () => undefined, { domain: 'preview.example.com' }],
  ['expired', () => undefined, { nowMs: () => Date.now() + 3_651 * dayMs }],
  ['not_readable', () => rmSync(keyFile())],
  ['not_readable', () => writeFileSync(rootFile(), rootText().slice(0, 200))],
  ['key_does_not_match', () => writeFileSync(keyFile(), createRoot('localhost', 'x', Date.now()).key)],
];

test.each(unusable)(
  'replaces a root that is %s with a warning and keeps the old files',
  async (reason, damage, options) => {
    (await open())[Symbol.dispose]();
    damage();
    const old = rootText();
    using certificates = await open(options);
    expect(rootText()).not.toBe(old);
    expect(log.lines.filter(({ level }) => level === 'warn')).toMatchObject([
      { event: 'preview_authority_replaced', fields: { reason } },
    ]);
    expect(replaced()).toHaveLength(1);
    expect(readFileSync(join(dataDir, replaced()[0] ?? '', 'root.crt'), 'utf8')).toBe(old);
    expect(certificates.rootFile).toBe(rootFile());
  },
);

test('replaces a root that is not a certificate authority', async () => {
  (await open())[Symbol.dispose]();
  const leaf = await open().then((certificates) => certificates.defaultPair());
  writeFileSync(rootFile(), leaf.cert);
  writeFileSync(keyFile(), leaf.key);
  using _certificates = await open();
  expect(log.lines.at(-2)).toMatchObject({ level: 'warn', fields: { reason: 'not_an_authority' } });
});

test('the error names a folder that cannot be written and what to do', async () => {
  await expect(open({ dataDir: join(dataDir, 'missing') })).rejects.toThrow(CertificateError);
  await expect(open({ dataDir: join(dataDir, 'missing') })).rejects.toThrow(/preview-authority.*MAYFLY_TLS_CERT/);
});

test('concurrent clients of one name share a certificate', async () => {
  using certificates = await open();
  const contexts = await Promise.all(Array.from({ length: 50 }, () => certificates.contextFor('abc.localhost')));
  expect(new Set(contexts).size).toBe(1);
});

test('renews a certificate long before it expires', async () => {
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

test('no leaf outlives the root', async () => {
  (await open())[Symbol.dispose]();
  const nearTheEnd = Date.now() + 3_640 * dayMs;
  using certificates = await open({ nowMs: () => nearTheEnd });
  const leaf = new X509Certificate((await certificates.defaultPair()).cert);
  expect(leaf.validToDate).toEqual(new X509Certificate(rootText()).validToDate);
});

test('a flood of names keeps the cache within its capacity and logs nothing', async () => {
  using certificates = openLocalCertificates({ domain: 'localhost', dataDir, log, nowMs: Date.now, maxContexts: 20 });
  const first = await certificates.contextFor('first.localhost');
  for (let index = 0; index < 19; index++) await certificates.contextFor(`flood-${index}.localhost`);
  expect(await certificates.contextFor('first.localhost')).toBe(first);
  for (let index = 0; index < 20; index++) await certificates.contextFor(`more-${index}.localhost`);
  expect(await certificates.contextFor('first.localhost')).not.toBe(first);
  expect(log.lines).toHaveLength(1);
}, 60_000);

function countingCache(capacity: number) {
  const created: string[] = [];
  let nowMs = 0;
  const get = renewingCache({
    capacity,
    nowMs: () => nowMs,
    create: (name) => {
      created.push(name);
      return { name, renewAtMs: nowMs + 100 };
    },
  });
  return { get, created, advance: (ms: number) => (nowMs += ms) };
}

test('the cache returns the same value for a name', () => {
  const { get, created } = countingCache(10);
  expect(get('a')).toBe(get('a'));
  expect(created).toEqual(['a']);
});

test('the cache evicts the least recently used value', () => {
  const { get, created } = countingCache(2);
  for (const name of ['a', 'b', 'a', 'c', 'a', 'b']) get(name);
  expect(created).toEqual(['a', 'b', 'c', 'b']);
});

test('the cache renews a value that is due', () => {
  const { get, created, advance } = countingCache(2);
  const first = get('a');
  advance(99);
  expect(get('a')).toBe(first);
  advance(1);
  expect(get('a')).not.toBe(first);
  expect(created).toEqual(['a', 'a']);
});

test.each(['abc.localhost', '0.localhost', 'a-b.localhost', `${'x'.repeat(63)}.localhost`])('certifies %s', (name) => {
  expect(certifiedName(name, 'localhost')).toBe(name);
});

test('certifies names in lower case', () => {
  expect(certifiedName('AbC.LocalHost', 'localhost')).toBe('abc.localhost');
});

test.each([
  undefined,
  '',
  'localhost',
  '.localhost',
  'a.b.localhost',
  'a_b.localhost',
  '*.localhost',
  'abc.localhost.',
  'abclocalhost',
  'abc.localhost.example.com',
  'example.com',
  '127.0.0.1',
  '::1',
  'é.localhost',
  'a\0b.localhost',
  'a\n.localhost',
  `${'x'.repeat(64)}.localhost`,
  `${'x'.repeat(100_000)}.localhost`,
])('%j gets the certificate of the domain', (name) => {
  expect(certifiedName(name, 'localhost')).toBe('localhost');
});

test('a name longer than DNS allows gets the certificate of the domain', () => {
  const domain = `${'d'.repeat(63)}.${'d'.repeat(63)}.${'d'.repeat(63)}`;
  expect(certifiedName(`${'x'.repeat(61)}.${domain}`, domain)).not.toBe(domain);
  expect(certifiedName(`${'x'.repeat(62)}.${domain}`, domain)).toBe(domain);
});
