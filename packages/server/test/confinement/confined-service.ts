import { execFileSync } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { mkdtempSync, watch, writeFileSync } from 'node:fs';
import { connect, createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Worker } from 'node:worker_threads';
import { pino } from 'pino';
import { readConfig } from '../../src/app/config.ts';
import { startService } from '../../src/app/service.ts';
import { StubDriver } from '../core/stub-driver.ts';
import { StubConnector } from '../core/stub-guest.ts';
import { selfSigned } from '../network/self-signed.ts';

/** The service with stub machines, as a process of its own. Prints one line when it is ready and one when it has stopped. */
const service = await startService({
  config: readConfig(),
  openDriver: async () => new StubDriver(),
  connector: new StubConnector(),
  log: pino({ level: 'warn' }, pino.destination(2)),
});
const { url, previews } = service;
process.once('SIGTERM', () => void stop());
print({ url, previewUrl: previews.url, rootFile: previews.rootFile });

async function stop(): Promise<void> {
  await service.stop();
  print({ checks: await checks });
  process.exit(0);
}

/** What else of Node the service uses or may use. */
const checks = Promise.all([http2OverTls(), workerThread(), watchedFile(), resolvedName(), Promise.resolve(child())]);

async function http2OverTls(): Promise<string> {
  const pair = selfSigned(['localhost'], []);
  const server = createSecureServer(pair, (request, response) => void request.pipe(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect(`https://localhost:${(server.address() as AddressInfo).port}`, { ca: pair.cert });
  const request = client.request({ ':method': 'POST' }).end('echo');
  const answer = await text(request);
  client.close();
  server.close();
  return `http2 ${answer}`;
}

async function workerThread(): Promise<string> {
  const worker = new Worker('require("node:worker_threads").parentPort.postMessage(6 * 7)', { eval: true });
  return `worker ${(await once(worker, 'message')).join()}`;
}

async function watchedFile(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'watched-'));
  const watcher = watch(folder);
  setImmediate(() => writeFileSync(join(folder, 'file'), ''));
  await once(watcher, 'change');
  watcher.close();
  return 'watch';
}

async function resolvedName(): Promise<string> {
  const { family } = await lookup('localhost');
  return `lookup ${family > 0}, cpus ${cpus().length > 0}`;
}

function child(): string {
  try {
    execFileSync(process.execPath, ['--version']);
    return 'child started';
  } catch (error) {
    return `child ${error instanceof Error && 'code' in error ? String(error.code) : 'failed'}`;
  }
}

function print(value: object): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
