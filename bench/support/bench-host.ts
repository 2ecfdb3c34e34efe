import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { readConfig } from '#server/app/config.ts';
import { startService } from '#server/app/service.ts';
import type { GuestConnector } from '#server/core/ports/guest-agent.ts';
import { createGuestConnector } from '#server/guest/connector.ts';
import { QemuDriver } from '#server/machines/qemu/driver.ts';
import { openLog } from '#server/process/log.ts';
import type { Prepared } from '#setup/prepare.ts';

/** What the rows measure: a service, and separately a driver and a connector without one. */
export interface BenchHost {
  readonly host: Pick<Prepared, 'engine' | 'templates' | 'tools' | 'artifacts'>;
  readonly folder: string;
  readonly url: string;
  readonly key: string;
  /** PEM file of the authority that signs the certificates of previews. */
  readonly previewRootFile: string;
  readonly connector: GuestConnector;
  readonly driver: QemuDriver;
  /** Opens another driver, on a data folder of its own. */
  readonly openDriver: (dataDir: string) => Promise<QemuDriver>;
  /** Resolves once a small machine is ready in the pool. */
  waitForPool(): Promise<void>;
  /** Sends one request to the service; throws unless it answers with the status. */
  call(method: string, path: string, status: number, body?: unknown): Promise<unknown>;
  [Symbol.asyncDispose](): Promise<void>;
}

const poolFullMs = 60_000;

/** Starts a service for the benchmark, without a pool unless the settings say otherwise. */
export async function startBenchHost(
  host: BenchHost['host'],
  settings: Record<string, string> = {},
): Promise<BenchHost> {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-bench-'));
  const key = 'mf_bench_key_of_the_first_account';
  const config = readConfig({
    MAYFLY_PORT: '0',
    MAYFLY_PREVIEW_PORT: '0',
    MAYFLY_DATA_DIR: folder,
    MAYFLY_BOOTSTRAP_API_KEY: key,
    MAYFLY_LOG_LEVEL: 'warn',
    MAYFLY_LIMIT_REQUESTS_PER_MINUTE: '1000000000',
    MAYFLY_LIMIT_CREATIONS_PER_MINUTE: '1000000000',
    MAYFLY_LIMIT_SOURCE_REQUESTS_PER_MINUTE: '1000000000',
    MAYFLY_POOL: 'none',
    ...settings,
  });
  const connector = createGuestConnector();
  const log = openLog(config);
  const openDriver = (dataDir: string) => QemuDriver.open({ ...host, dataDir, log });
  const service = await startService({ config, openDriver: () => openDriver(folder), connector, log });
  const driver = await openDriver(join(folder, 'bare'));
  await driver.adopt();
  return {
    host,
    folder,
    url: service.url,
    key,
    previewRootFile: service.previews.rootFile ?? '',
    connector,
    driver,
    openDriver,
    waitForPool: async () => {
      const untilMs = performance.now() + poolFullMs;
      while (service.core.pool.readyCount('small') === 0) {
        if (performance.now() > untilMs) throw new Error('the pool did not fill');
        await wait(5);
      }
    },
    call: async (method, path, status, body) => {
      const response = await fetch(`${service.url}/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${key}` },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (response.status !== status) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      return JSON.parse(text) as unknown;
    },
    [Symbol.asyncDispose]: async () => {
      await driver[Symbol.asyncDispose]();
      await service.stop('destroy');
      await rm(folder, { recursive: true, force: true });
    },
  };
}
