import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { StubDriver } from '../../test/core/stub-driver.ts';
import { RecordedLog } from '../../test/recorded-log.ts';
import { PostgresServer } from '../../test/store/postgres-server.ts';
import { serviceFolders } from '../confinement/spec.ts';
import { DriverServer } from '../host-process/driver-server.ts';
import { hostSocketPath } from '../machines/protocol/run-folder.ts';
import { SupervisedProcess } from './supervised-process.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const log = new RecordedLog();
const main = join(import.meta.dirname, '../app/main.ts');
let dataDir: string;
let database: PostgresServer;
let host: DriverServer;
beforeAll(async () => {
  database = await PostgresServer.create();
  dataDir = mkdtempSync(join(tmpdir(), 'mayfly-outage-'));
  const { serviceDir, runDir } = serviceFolders(dataDir);
  for (const folder of [serviceDir, runDir]) mkdirSync(folder, { mode: 0o700 });
  const diskFreeBytes = async () => Number.POSITIVE_INFINITY;
  host = await DriverServer.listen({
    driver: new StubDriver(),
    socketPath: hostSocketPath(runDir),
    diskFreeBytes,
    log,
  });
});
afterAll(async () => {
  await host?.[Symbol.asyncDispose]();
  await database?.remove();
  rmSync(dataDir, { recursive: true });
});

test('a service whose database is away when it starts says so, is started again, and recovers by itself', async () => {
  const env = {
    MAYFLY_DATA_DIR: dataDir,
    MAYFLY_DATABASE_URL: database.url(await database.createDatabase()),
    MAYFLY_PORT: '0',
    MAYFLY_PREVIEW_PORT: '0',
    MAYFLY_POOL: 'none',
    MAYFLY_LOG_LEVEL: 'fatal',
    MAYFLY_BOOTSTRAP_API_KEY: 'chosen-by-operator-0123456789abcdef',
  };
  let printed = '';
  const said: string[] = [];
  const start = async () => {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main], { env });
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (part) => (printed += part));
    return child;
  };
  const service = new SupervisedProcess({ name: 'service', start, log, say: (line) => said.push(line) });
  const greetings = () => printed.split('/v1\n').length - 1;
  try {
    await expect.poll(greetings, { timeout: 60_000 }).toBe(1);
    await database.stop();
    process.kill(service.pid ?? 0, 'SIGKILL');
    await expect.poll(() => said.length, { timeout: 60_000 }).toBeGreaterThan(2);
    expect(said.slice(0, 2)).toEqual([
      'The service process ended (killed by SIGKILL). It is started again in 0.2 s.',
      'The service process cannot start yet. It is started again in 0.4 s.',
    ]);
    expect(printed).toMatch(/Mayfly cannot start yet\. PostgreSQL at .*ECONNREFUSED.* Start the server, or correct/);
    await database.start();
    await expect.poll(greetings, { timeout: 90_000 }).toBe(2);
  } finally {
    await service.stop();
  }
  expect(await service.ended).toBe(0);
});
