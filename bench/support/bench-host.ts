import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '#server/app/config.ts';
import type { GuestConnector } from '#server/core/ports/guest-agent.ts';
import { createGuestConnector } from '#server/guest/connector.ts';
import { QemuDriver } from '#server/machines/qemu/driver.ts';
import { openLog } from '#server/process/log.ts';
import { type StartedService, startSupervised } from '#server-test/supervisor/start-supervised.ts';
import type { Prepared } from '#setup/prepare.ts';

/** What the rows measure: a service as npm start runs it, and separately a driver and a connector without one. */
export interface BenchHost {
  readonly host: Pick<Prepared, 'engine' | 'templates' | 'tools' | 'artifacts'>;
  readonly folder: string;
  readonly url: string;
  readonly key: string;
  /** The authority that signs the certificates of previews (PEM). */
  readonly previewRoot: string;
  readonly connector: GuestConnector;
  readonly driver: QemuDriver;
  /** Opens another driver, on a data folder of its own. */
  readonly openDriver: (dataDir: string) => Promise<QemuDriver>;
  /** The value of one series of the service's metrics, named as on their page; 0 if it is not there. */
  readonly metric: (series: string) => Promise<number>;
  /** Sends one request to the service; throws unless it answers with the status. */
  readonly call: (method: string, path: string, status: number, body?: unknown) => Promise<unknown>;
  [Symbol.asyncDispose](): Promise<void>;
}

const key = 'mf_bench_key_of_the_first_account';

/** Settings of a service that the benchmark starts: no rate limits, and no pool unless a row measures one. */
export const benchSettings = {
  MAYFLY_PORT: '0',
  MAYFLY_PREVIEW_PORT: '0',
  MAYFLY_BOOTSTRAP_API_KEY: key,
  MAYFLY_LOG_LEVEL: 'warn',
  MAYFLY_LIMIT_REQUESTS_PER_MINUTE: '1000000000',
  MAYFLY_LIMIT_CREATIONS_PER_MINUTE: '1000000000',
  MAYFLY_LIMIT_SOURCE_REQUESTS_PER_MINUTE: '1000000000',
  MAYFLY_POOL: 'none',
};

/** Starts a service for the benchmark. */
export async function startBenchHost(
  host: BenchHost['host'],
  settings: Record<string, string> = {},
): Promise<BenchHost> {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-bench-'));
  const dataDir = join(folder, 'data');
  const service = await startSupervised(host, { ...benchSettings, MAYFLY_DATA_DIR: dataDir, ...settings });
  const log = openLog(readConfig({ MAYFLY_LOG_LEVEL: 'warn' }));
  const openDriver = (driverDir: string) => QemuDriver.open({ ...host, dataDir: driverDir, log });
  const driver = await openDriver(join(folder, 'bare'));
  await driver.adopt();
  return {
    host,
    folder,
    url: service.url,
    key,
    previewRoot: await (await fetch(`${service.url}/preview-root.crt`)).text(),
    connector: createGuestConnector(),
    driver,
    openDriver,
    metric: (series) => readMetric(service, series),
    call: callerOf(service),
    [Symbol.asyncDispose]: async () => {
      await driver[Symbol.asyncDispose]();
      await service.end('SIGINT');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Sends requests to a service that the benchmark started. */
export function callerOf({ url }: StartedService): BenchHost['call'] {
  return async (method, path, status, body) => {
    const response = await fetch(`${url}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.status !== status) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as unknown;
  };
}

async function readMetric({ url }: StartedService, series: string): Promise<number> {
  const lines = (await (await fetch(`${url}/metrics`)).text()).split('\n');
  const found = lines.find((line) => line.startsWith(`${series} `));
  return found === undefined ? 0 : Number(found.slice(series.length));
}
