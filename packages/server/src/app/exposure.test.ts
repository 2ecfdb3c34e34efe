import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { StubDriver } from '../../test/core/stub-driver.ts';
import { StubConnector } from '../../test/core/stub-guest.ts';
import { selfSigned } from '../../test/network/self-signed.ts';
import { readConfig } from './config.ts';
import { startService } from './service.ts';

const key = 'chosen-by-operator-0123456789abcdef';
let folder: string;
let certFile: string;
let keyFile: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-exposure-'));
  certFile = join(folder, 'tls.crt');
  keyFile = join(folder, 'tls.key');
});
afterEach(() => rmSync(folder, { recursive: true }));

const start = (settings: NodeJS.ProcessEnv) =>
  startService({
    config: readConfig({
      MAYFLY_DATA_DIR: join(folder, 'data'),
      MAYFLY_PORT: '0',
      MAYFLY_PREVIEW_PORT: '0',
      MAYFLY_POOL: 'none',
      MAYFLY_BOOTSTRAP_API_KEY: key,
      ...settings,
    }),
    openDriver: async () => new StubDriver(),
    connector: new StubConnector(),
    log: pino({ level: 'silent' }),
  });

async function newCertificate(): Promise<string> {
  const pair = selfSigned(['localhost', '*.localhost'], []);
  await writeFile(keyFile, pair.key);
  await writeFile(certFile, pair.cert);
  return pair.cert;
}

/** Asks for the account over TLS and returns the response and the certificate that the server showed. */
async function getAccount(url: string, ca: string) {
  const headers = { authorization: `Bearer ${key}` };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(`${url}/v1/account`, { ca, headers, agent: false, servername: 'localhost' }, resolve)
      .once('error', reject)
      .end();
  });
  const { fingerprint256 } = (response.socket as TLSSocket).getPeerCertificate();
  return { status: response.statusCode, body: await json(response), fingerprint256 };
}

const canConnect = (host: string, port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect({ host, port });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });

test('the API speaks TLS with the certificate of the operator, and a new one is used without a restart', async () => {
  const first = await newCertificate();
  const tls = { MAYFLY_API_TLS: 'true', MAYFLY_TLS_CERT: certFile, MAYFLY_TLS_KEY: keyFile };
  const service = await start({ MAYFLY_HOST: '0.0.0.0', MAYFLY_PREVIEW_HOST: '127.0.0.1', ...tls });
  try {
    expect(service.url).toMatch(/^https:\/\/localhost:\d+$/);
    const answer = await getAccount(service.url, first);
    expect(answer).toMatchObject({ status: 200, body: { email: 'admin@localhost' } });
    await expect(fetch(service.url.replace('https', 'http'))).rejects.toThrow();
    const second = await newCertificate();
    const renewed = await vi.waitFor(() => getAccount(service.url, second), { timeout: 60_000, interval: 200 });
    expect(renewed.fingerprint256).not.toBe(answer.fingerprint256);
  } finally {
    await service.stop();
  }
});

test('previews listen on an address of their own, where the API does not answer', async () => {
  const service = await start({ MAYFLY_PREVIEW_HOST: '127.0.0.2' });
  try {
    const apiPort = Number(new URL(service.url).port);
    const previewPort = Number(/:(\d+)\/$/.exec(service.previews.url)?.[1]);
    expect(await canConnect('127.0.0.1', apiPort)).toBe(true);
    expect(await canConnect('127.0.0.2', apiPort)).toBe(false);
    expect(await canConnect('127.0.0.2', previewPort)).toBe(true);
    expect(await canConnect('127.0.0.1', previewPort)).toBe(false);
  } finally {
    await service.stop();
  }
});

test('an address for previews that this machine lacks is explained', async () => {
  await expect(start({ MAYFLY_PREVIEW_HOST: '198.51.100.77' })).rejects.toThrow(
    'This machine has no address 198.51.100.77. Set MAYFLY_PREVIEW_HOST to one of its addresses.',
  );
});
