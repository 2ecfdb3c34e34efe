import { expect, test } from 'vitest';
import { printableConfig, readConfig } from './config.ts';

test('everything has a default', () => {
  expect(readConfig({})).toEqual({
    host: '127.0.0.1',
    port: 8080,
    publicUrl: undefined,
    dataDir: '/var/lib/mayfly',
    cacheDir: '/var/cache/mayfly',
    bootstrapEmail: 'admin@localhost',
    bootstrapApiKey: undefined,
    bootstrapCreditMicroUsd: 100_000_000,
    logLevel: 'info',
  });
});

test('settings are read, and an empty one is none', () => {
  const config = readConfig({
    MAYFLY_PORT: '0',
    MAYFLY_HOST: '',
    MAYFLY_PUBLIC_URL: 'https://m.example/',
    MAYFLY_BOOTSTRAP_CREDIT_USD: '2.5',
  });
  expect(config).toMatchObject({ port: 0, host: '127.0.0.1', bootstrapCreditMicroUsd: 2_500_000 });
  expect(config.publicUrl).toBe('https://m.example');
});

test('every problem is named at once', () => {
  const env = { MAYFLY_PORT: '99999', MAYFLY_LOG_LEVEL: 'loud', MAYFLY_BOOTSTRAP_EMAIL: 'nobody' };
  expect(() => readConfig(env)).toThrow(/MAYFLY_PORT.*MAYFLY_BOOTSTRAP_EMAIL.*MAYFLY_LOG_LEVEL/s);
});

test('the key is not printed', () => {
  const config = readConfig({ MAYFLY_BOOTSTRAP_API_KEY: 'mf_secret_secret' });
  expect(JSON.stringify(printableConfig(config))).not.toContain('secret_secret');
});
