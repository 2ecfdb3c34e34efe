import { resolve } from 'node:path';
import { defaultLimits } from '@mayfly/contract';
import { describe, expect, test } from 'vitest';
import { printableConfig, readConfig } from './config.ts';

test('everything has a default', () => {
  expect(readConfig({})).toEqual({
    host: '127.0.0.1',
    port: 8080,
    inheritedSockets: {},
    apiTls: false,
    publicUrl: undefined,
    dataDir: '/var/lib/mayfly',
    cacheDir: '/var/cache/mayfly',
    databaseUrl: undefined,
    previewDomain: 'localhost',
    previewHost: '127.0.0.1',
    previewPort: 8443,
    previewPublicPort: undefined,
    tlsFiles: undefined,
    bootstrapEmail: 'admin@localhost',
    bootstrapApiKey: undefined,
    bootstrapPassword: undefined,
    bootstrapCreditMicroUsd: 100_000_000,
    pool: { small: 1 },
    poolTemplates: [],
    headroom: {
      memoryOvercommit: 8,
      memoryReserveBytes: 1_073_741_824,
      diskOvercommit: 40,
      diskReserveBytes: 2_147_483_648,
    },
    machinesMemoryBytes: undefined,
    diskRates: { bytesPerSecond: 134_217_728, operationsPerSecond: 4_000 },
    retentionDays: 30,
    maxMachines: undefined,
    egressRefuse: [],
    prices: { small: 50_000, medium: 100_000, large: 200_000 },
    snapshotPriceMicroUsdPerGbMonth: 0,
    limits: defaultLimits,
    trustProxy: false,
    metricsPublic: false,
    metricsToken: undefined,
    logLevel: 'info',
  });
});

test('settings are read, and an empty one counts as missing', () => {
  const config = readConfig({
    MAYFLY_PORT: '0',
    MAYFLY_HOST: '',
    MAYFLY_PUBLIC_URL: 'https://m.example/',
    MAYFLY_BOOTSTRAP_CREDIT_USD: '2.5',
  });
  expect(config).toMatchObject({ port: 0, host: '127.0.0.1', bootstrapCreditMicroUsd: 2_500_000 });
  expect(config.publicUrl).toBe('https://m.example');
});

test('the pool holds sizes and templates, of the first account unless another is named', () => {
  const { pool, poolTemplates } = readConfig({
    MAYFLY_BOOTSTRAP_EMAIL: 'first@example.com',
    MAYFLY_POOL: 'small=2, template:web-app=3,template:b@example.com/web-app = 1',
  });
  expect(pool).toEqual({ small: 2 });
  expect(poolTemplates).toEqual([
    { email: 'first@example.com', alias: 'web-app', count: 3 },
    { email: 'b@example.com', alias: 'web-app', count: 1 },
  ]);
  expect(readConfig({ MAYFLY_POOL: 'none' })).toMatchObject({ pool: {}, poolTemplates: [] });
  for (const wrong of ['tiny=1', 'small', 'small=101', 'small=1,small=2', 'template:=1', 'template:a=1,template:a=2']) {
    expect(() => readConfig({ MAYFLY_POOL: wrong })).toThrow('MAYFLY_POOL: must be sizes or templates');
  }
});

test('ranges that machines may not reach are read, and anything but IPv4 is an error', () => {
  const read = (MAYFLY_EGRESS_REFUSE: string) => readConfig({ MAYFLY_EGRESS_REFUSE }).egressRefuse;
  expect(read('203.0.113.7, 198.51.100.9/24')).toEqual(['203.0.113.7', '198.51.100.0/24']);
  for (const wrong of ['example.com', 'fd00::/8', '10.0.0.0/33', '203.0.113.7,', '203.0.113.7;203.0.113.8']) {
    expect(() => read(wrong)).toThrow('MAYFLY_EGRESS_REFUSE: must be a comma-separated list of at most 1000 IPv4');
  }
});

test('preview settings are read', () => {
  const config = readConfig({
    MAYFLY_PREVIEW_DOMAIN: 'Preview.Example.com',
    MAYFLY_PREVIEW_PORT: '0',
    MAYFLY_PREVIEW_PUBLIC_PORT: '443',
    MAYFLY_TLS_CERT: '/etc/mayfly/tls.crt',
    MAYFLY_TLS_KEY: 'tls.key',
  });
  expect(config).toMatchObject({ previewDomain: 'preview.example.com', previewPort: 0, previewPublicPort: 443 });
  expect(config.tlsFiles).toEqual({ certFile: '/etc/mayfly/tls.crt', keyFile: resolve('tls.key') });
  expect(printableConfig(config).tlsFiles).toEqual(config.tlsFiles);
});

test.each(['0', '65536', 'https'])('MAYFLY_PREVIEW_PUBLIC_PORT %s is refused', (port) => {
  expect(() => readConfig({ MAYFLY_PREVIEW_PUBLIC_PORT: port })).toThrow(/MAYFLY_PREVIEW_PUBLIC_PORT: must be a whole/);
});

test('a certificate without its key is refused, and a key without its certificate', () => {
  expect(() => readConfig({ MAYFLY_TLS_CERT: 'tls.crt' })).toThrow(
    /MAYFLY_TLS_KEY: must be set together with MAYFLY_TLS_CERT/,
  );
  expect(() => readConfig({ MAYFLY_TLS_KEY: 'tls.key', MAYFLY_TLS_CERT: '' })).toThrow(
    /MAYFLY_TLS_CERT: must be set together with MAYFLY_TLS_KEY/,
  );
});

test('every problem is named at once', () => {
  const env = { MAYFLY_PORT: '99999', MAYFLY_LOG_LEVEL: 'loud', MAYFLY_BOOTSTRAP_EMAIL: 'nobody' };
  expect(() => readConfig(env)).toThrow(/MAYFLY_PORT.*MAYFLY_BOOTSTRAP_EMAIL.*MAYFLY_LOG_LEVEL/s);
});

test('the key is not printed', () => {
  const config = readConfig({ MAYFLY_BOOTSTRAP_API_KEY: 'mf_secret_secret_0123456789abcdef' });
  expect(JSON.stringify(printableConfig(config))).not.toContain('secret_secret');
});

test('the token for metrics is not printed', () => {
  const config = readConfig({ MAYFLY_METRICS_TOKEN: 'secret_secret_0123456789abcdef_01' });
  expect(JSON.stringify(printableConfig(config))).not.toContain('secret_secret');
});

test('a first key that could be guessed is refused', () => {
  expect(() => readConfig({ MAYFLY_BOOTSTRAP_API_KEY: 'x'.repeat(31) })).toThrow(
    /MAYFLY_BOOTSTRAP_API_KEY: must be 32 to 256 visible/,
  );
  expect(() => readConfig({ MAYFLY_BOOTSTRAP_PASSWORD: 'short' })).toThrow(
    'MAYFLY_BOOTSTRAP_PASSWORD: must be 12 to 256 characters',
  );
  expect(readConfig({ MAYFLY_BOOTSTRAP_API_KEY: 'x'.repeat(32) }).bootstrapApiKey).toHaveLength(32);
});

test('the database password is not printed', () => {
  const config = readConfig({ MAYFLY_DATABASE_URL: 'postgres://mayfly:hunter2@db.internal/mayfly' });
  expect(config.databaseUrl).toContain('hunter2');
  expect(JSON.stringify(printableConfig(config))).not.toContain('hunter2');
});

test('every limit has a setting', () => {
  const { limits } = readConfig({ MAYFLY_LIMIT_REQUESTS_PER_MINUTE: '1000', MAYFLY_LIMIT_API_KEYS: '3' });
  expect(limits).toEqual({ ...defaultLimits, requestsPerMinute: 1000, apiKeys: 3 });
});

test('contradicting limits are refused', () => {
  const env = { MAYFLY_LIMIT_MAX_TIMEOUT_MINUTES: '10', MAYFLY_LIMIT_FILE_BYTES: '0' };
  expect(() => readConfig({ ...env, MAYFLY_LIMIT_FILE_BYTES: '' })).toThrow(
    /MAYFLY_LIMIT_DEFAULT_TIMEOUT_MINUTES \(15\) must not exceed MAYFLY_LIMIT_MAX_TIMEOUT_MINUTES \(10\)/,
  );
  expect(() => readConfig(env)).toThrow(/MAYFLY_LIMIT_FILE_BYTES: must be a whole number/);
});

test.each([
  ['true', true],
  ['false', false],
  ['127.0.0.1, 10.0.0.0/8', '127.0.0.1,10.0.0.0/8'],
])('MAYFLY_TRUST_PROXY %s', (text, value) => {
  expect(readConfig({ MAYFLY_TRUST_PROXY: text }).trustProxy).toBe(value);
});

test.each(['proxy.internal', '10.0.0.0/33', '::1/129', '10.0.0.1/8/8', '1'])(
  'MAYFLY_TRUST_PROXY %s is refused',
  (proxy) => {
    expect(() => readConfig({ MAYFLY_TRUST_PROXY: proxy })).toThrow(/MAYFLY_TRUST_PROXY/);
  },
);

describe('a plaintext API', () => {
  test.each(['0.0.0.0', '::', '198.51.100.1', '10.0.0.1', 'mayfly.example.com'])('on %s is refused', (host) => {
    expect(() => readConfig({ MAYFLY_HOST: host })).toThrow(/MAYFLY_HOST: the API would send API keys unencrypted/);
  });

  test.each(['127.0.0.1', '127.0.0.2', '::1', 'localhost'])('on %s is accepted', (host) => {
    expect(readConfig({ MAYFLY_HOST: host })).toMatchObject({ host, apiTls: false });
  });

  test('is accepted anywhere if the operator says so, or if it is not plaintext', () => {
    expect(readConfig({ MAYFLY_HOST: '0.0.0.0', MAYFLY_ALLOW_PLAINTEXT: 'true' }).host).toBe('0.0.0.0');
    const tls = { MAYFLY_API_TLS: 'true', MAYFLY_TLS_CERT: 'tls.crt', MAYFLY_TLS_KEY: 'tls.key' };
    expect(readConfig({ MAYFLY_HOST: '0.0.0.0', ...tls })).toMatchObject({ host: '0.0.0.0', apiTls: true });
    expect(() => readConfig({ MAYFLY_API_TLS: 'true' })).toThrow(/MAYFLY_API_TLS: needs a certificate/);
  });

  test('stays on this machine while previews are public', () => {
    const config = readConfig({ MAYFLY_PREVIEW_HOST: '0.0.0.0' });
    expect(config).toMatchObject({ host: '127.0.0.1', previewHost: '0.0.0.0' });
    expect(readConfig({ MAYFLY_HOST: '::1' }).previewHost).toBe('::1');
  });
});
