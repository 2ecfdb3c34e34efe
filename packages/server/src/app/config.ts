import type { Limits, SizeName } from '@mayfly/contract';
import { z } from 'zod';
import type { HeadroomRules } from '../core/admission/headroom.ts';
import type { PoolTargets } from '../core/pool/pool.ts';
import {
  apiKey,
  databaseUrl,
  domain,
  email,
  flag,
  localPath,
  microUsd,
  port,
  publicPort,
  publicUrl,
  setting,
  trustProxy,
  wholeNumber,
} from './config/fields.ts';
import { limitProblems, limitSettings, limitsFrom } from './config/limit-settings.ts';
import { poolSetting } from './config/pool-setting.ts';
import { type TlsFiles, tlsFilesFrom, tlsFilesProblems } from './config/tls-files.ts';
import { StartError } from './start-error.ts';

const mebibyte = 1_048_576;
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

const environment = z.object({
  MAYFLY_HOST: setting(z.string(), '127.0.0.1'),
  MAYFLY_PORT: setting(port, 8080),
  MAYFLY_PUBLIC_URL: setting(publicUrl, undefined),
  MAYFLY_DATA_DIR: setting(localPath, '/var/lib/mayfly'),
  MAYFLY_CACHE_DIR: setting(localPath, '/var/cache/mayfly'),
  MAYFLY_DATABASE_URL: setting(databaseUrl, undefined),
  MAYFLY_PREVIEW_DOMAIN: setting(domain, 'localhost'),
  MAYFLY_PREVIEW_PORT: setting(port, 8443),
  MAYFLY_PREVIEW_PUBLIC_PORT: setting(publicPort, undefined),
  MAYFLY_TLS_CERT: setting(localPath, undefined),
  MAYFLY_TLS_KEY: setting(localPath, undefined),
  MAYFLY_BOOTSTRAP_EMAIL: setting(email, 'admin@localhost'),
  MAYFLY_BOOTSTRAP_API_KEY: setting(apiKey, undefined),
  MAYFLY_BOOTSTRAP_CREDIT_USD: setting(microUsd, 100_000_000),
  MAYFLY_POOL: setting(poolSetting, { small: 1 }),
  MAYFLY_MEMORY_OVERCOMMIT: setting(wholeNumber(1, 1_000), 8),
  MAYFLY_MEMORY_RESERVE_MB: setting(wholeNumber(0, 10_000_000), 1_024),
  MAYFLY_DISK_OVERCOMMIT: setting(wholeNumber(1, 1_000), 40),
  MAYFLY_DISK_RESERVE_MB: setting(wholeNumber(0, 100_000_000), 2_048),
  MAYFLY_RETENTION_DAYS: setting(wholeNumber(1, 36_500), 30),
  MAYFLY_MAX_MACHINES: setting(wholeNumber(1, 1_000_000), undefined),
  MAYFLY_PRICE_SMALL: setting(microUsd, 50_000),
  MAYFLY_PRICE_MEDIUM: setting(microUsd, 100_000),
  MAYFLY_PRICE_LARGE: setting(microUsd, 200_000),
  MAYFLY_TRUST_PROXY: setting(trustProxy, false),
  MAYFLY_METRICS_PUBLIC: setting(flag, false),
  MAYFLY_LOG_LEVEL: setting(z.enum(logLevels, { error: `must be one of ${logLevels.join(', ')}` }), 'info'),
});

const limitEnvironment = z.object(limitSettings);

/** The settings of the service. */
export interface Config {
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
  /** Where callers reach the service, if not at host and port; without a slash at the end. */
  readonly publicUrl: string | undefined;
  /** Database, machines, snapshots. */
  readonly dataDir: string;
  /** Image and templates. */
  readonly cacheDir: string;
  /** PostgreSQL; a SQLite file in the data folder when absent. Secret. */
  readonly databaseUrl: string | undefined;
  /** Previews are at https://<token>.<domain>[:port]/. */
  readonly previewDomain: string;
  /** Where the gateway listens; 0 takes any free one. */
  readonly previewPort: number;
  /** The port in the URLs of previews, if not the one listened on. */
  readonly previewPublicPort: number | undefined;
  /** The operator's own certificate for previews; a local authority signs when absent. */
  readonly tlsFiles: TlsFiles | undefined;
  readonly bootstrapEmail: string;
  /** Secret. */
  readonly bootstrapApiKey: string | undefined;
  readonly bootstrapCreditMicroUsd: number;
  /** How many machines of each size wait ready. */
  readonly pool: PoolTargets;
  readonly headroom: HeadroomRules;
  /** How long output and records of ended sandboxes are kept. */
  readonly retentionDays: number;
  /** How many machines there may be at once, over all accounts; no ceiling when absent. */
  readonly maxMachines: number | undefined;
  /** In millionths of a dollar per hour. */
  readonly prices: Readonly<Record<SizeName, number>>;
  readonly limits: Limits;
  /** Whose X-Forwarded-For is believed. */
  readonly trustProxy: boolean | string;
  /** Whether /metrics answers others than this host. */
  readonly metricsPublic: boolean;
  readonly logLevel: (typeof logLevels)[number];
}

/** The settings of an environment, by default this process's. Throws a StartError that names every problem. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const general = environment.safeParse(env);
  const limit = limitEnvironment.safeParse(env);
  const issues = [...(general.error?.issues ?? []), ...(limit.error?.issues ?? [])];
  const problems = issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  const limits = limit.success ? limitsFrom(limit.data) : undefined;
  if (general.success) problems.push(...tlsFilesProblems(general.data));
  if (limits !== undefined) problems.push(...limitProblems(limits));
  if (problems.length > 0 || !general.success || limits === undefined) {
    throw new StartError(`These settings cannot be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
  const { data } = general;
  return Object.freeze({
    host: data.MAYFLY_HOST,
    port: data.MAYFLY_PORT,
    publicUrl: data.MAYFLY_PUBLIC_URL,
    dataDir: data.MAYFLY_DATA_DIR,
    cacheDir: data.MAYFLY_CACHE_DIR,
    databaseUrl: data.MAYFLY_DATABASE_URL,
    previewDomain: data.MAYFLY_PREVIEW_DOMAIN,
    previewPort: data.MAYFLY_PREVIEW_PORT,
    previewPublicPort: data.MAYFLY_PREVIEW_PUBLIC_PORT,
    tlsFiles: tlsFilesFrom(data),
    bootstrapEmail: data.MAYFLY_BOOTSTRAP_EMAIL,
    bootstrapApiKey: data.MAYFLY_BOOTSTRAP_API_KEY,
    bootstrapCreditMicroUsd: data.MAYFLY_BOOTSTRAP_CREDIT_USD,
    pool: data.MAYFLY_POOL,
    headroom: {
      memoryOvercommit: data.MAYFLY_MEMORY_OVERCOMMIT,
      memoryReserveBytes: data.MAYFLY_MEMORY_RESERVE_MB * mebibyte,
      diskOvercommit: data.MAYFLY_DISK_OVERCOMMIT,
      diskReserveBytes: data.MAYFLY_DISK_RESERVE_MB * mebibyte,
    },
    retentionDays: data.MAYFLY_RETENTION_DAYS,
    maxMachines: data.MAYFLY_MAX_MACHINES,
    prices: { small: data.MAYFLY_PRICE_SMALL, medium: data.MAYFLY_PRICE_MEDIUM, large: data.MAYFLY_PRICE_LARGE },
    limits,
    trustProxy: data.MAYFLY_TRUST_PROXY,
    metricsPublic: data.MAYFLY_METRICS_PUBLIC,
    logLevel: data.MAYFLY_LOG_LEVEL,
  });
}

/** The settings as they may be printed: without secrets. */
export function printableConfig(config: Config): Config {
  const hidden = (secret: string | undefined) => (secret === undefined ? undefined : '[redacted]');
  return { ...config, bootstrapApiKey: hidden(config.bootstrapApiKey), databaseUrl: hidden(config.databaseUrl) };
}
