import { defaultLimits, type Limits, operatorLimitKeys, type SizeName } from '@mayfly/contract';
import { defaultDataDir } from '@mayfly/contract/admin';
import { z } from 'zod';
import { defaultHeadroom, type HeadroomRules } from '../core/admission/capacity.ts';
import type { PooledTemplate, PoolTargets } from '../core/pool/pool.ts';
import { type DiskRates, defaultDiskRates } from '../machines/qemu/argv.ts';
import { StartFailure } from '../process/start-failure.ts';
import { type InheritedSockets, inheritedSockets } from './inherited-sockets.ts';
import * as field from './setting-fields.ts';
import { isLoopbackHost, setting, wholeNumber } from './setting-fields.ts';

const mebibyte = 1_048_576;
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** Default of MAYFLY_CACHE_DIR. */
export const defaultCacheDir = '/var/cache/mayfly';

const environment = z.object({
  MAYFLY_HOST: setting(z.string(), '127.0.0.1'),
  MAYFLY_PORT: setting(field.port, 8080),
  MAYFLY_API_TLS: setting(field.flag, false),
  MAYFLY_ALLOW_PLAINTEXT: setting(field.flag, false),
  MAYFLY_PUBLIC_URL: setting(field.publicUrl, undefined),
  MAYFLY_DATA_DIR: setting(field.localPath, defaultDataDir),
  MAYFLY_CACHE_DIR: setting(field.localPath, defaultCacheDir),
  MAYFLY_DATABASE_URL: setting(field.databaseUrl, undefined),
  MAYFLY_PREVIEW_DOMAIN: setting(field.domain, 'localhost'),
  MAYFLY_PREVIEW_HOST: setting(z.string(), undefined),
  MAYFLY_PREVIEW_PORT: setting(field.port, 8443),
  MAYFLY_PREVIEW_PUBLIC_PORT: setting(field.publicPort, undefined),
  MAYFLY_TLS_CERT: setting(field.localPath, undefined),
  MAYFLY_TLS_KEY: setting(field.localPath, undefined),
  MAYFLY_BOOTSTRAP_EMAIL: setting(field.email, 'admin@localhost'),
  MAYFLY_BOOTSTRAP_API_KEY: setting(field.apiKey, undefined),
  MAYFLY_BOOTSTRAP_PASSWORD: setting(field.password, undefined),
  MAYFLY_BOOTSTRAP_CREDIT_USD: setting(field.microUsd, 100_000_000),
  MAYFLY_POOL: setting(field.pool, { sizes: { small: 1 }, templates: [] }),
  MAYFLY_MEMORY_OVERCOMMIT: setting(wholeNumber(1, 1_000), defaultHeadroom.memoryOvercommit),
  MAYFLY_MEMORY_RESERVE_MB: setting(wholeNumber(0, 10_000_000), defaultHeadroom.memoryReserveBytes / mebibyte),
  MAYFLY_DISK_OVERCOMMIT: setting(wholeNumber(1, 1_000), defaultHeadroom.diskOvercommit),
  MAYFLY_DISK_RESERVE_MB: setting(wholeNumber(0, 100_000_000), defaultHeadroom.diskReserveBytes / mebibyte),
  MAYFLY_MACHINES_MEMORY_MB: setting(wholeNumber(512, 100_000_000), undefined),
  MAYFLY_DISK_MB_PER_SECOND: setting(wholeNumber(1, 100_000), defaultDiskRates.bytesPerSecond / mebibyte),
  MAYFLY_DISK_OPERATIONS_PER_SECOND: setting(wholeNumber(10, 10_000_000), defaultDiskRates.operationsPerSecond),
  MAYFLY_RETENTION_DAYS: setting(wholeNumber(1, 36_500), 30),
  MAYFLY_MAX_MACHINES: setting(wholeNumber(1, 1_000_000), undefined),
  MAYFLY_EGRESS_REFUSE: setting(field.ipv4Ranges, []),
  MAYFLY_PRICE_SMALL: setting(field.microUsd, 50_000),
  MAYFLY_PRICE_MEDIUM: setting(field.microUsd, 100_000),
  MAYFLY_PRICE_LARGE: setting(field.microUsd, 200_000),
  MAYFLY_PRICE_SNAPSHOT_GB_MONTH: setting(field.microUsd, 0),
  MAYFLY_TRUST_PROXY: setting(field.trustProxy, false),
  MAYFLY_METRICS_PUBLIC: setting(field.flag, false),
  MAYFLY_METRICS_TOKEN: setting(field.apiKey, undefined),
  MAYFLY_LOG_LEVEL: setting(z.enum(logLevels, { error: `must be one of ${logLevels.join(', ')}` }), 'info'),
});

/** The settings of the service. */
export interface Config {
  /** Where the API listens. */
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Sockets to listen on instead of opening them. */
  readonly inheritedSockets: InheritedSockets;
  /** Whether the API speaks TLS, with the operator's certificate. */
  readonly apiTls: boolean;
  /** Where callers reach the service, if not at host and port; without a trailing slash. */
  readonly publicUrl: string | undefined;
  /** Database, machines and snapshots. The confined service sees only its own part, the folder `service`. */
  readonly dataDir: string;
  /** Image and templates. */
  readonly cacheDir: string;
  /** PostgreSQL; a SQLite file in the data folder when absent. Secret. */
  readonly databaseUrl: string | undefined;
  /** Previews are at https://<token>.<domain>[:port]/. */
  readonly previewDomain: string;
  /** The address that the gateway listens on. */
  readonly previewHost: string;
  /** Where the gateway listens; 0 takes any free port. */
  readonly previewPort: number;
  /** The port in preview URLs, if it differs from the one the gateway listens on. */
  readonly previewPublicPort: number | undefined;
  /** The operator's certificate for previews and, if it speaks TLS, the API; when absent, the local authority issues certificates for previews. */
  readonly tlsFiles: TlsFiles | undefined;
  readonly bootstrapEmail: string;
  /** Secret. */
  readonly bootstrapApiKey: string | undefined;
  /** Secret. */
  readonly bootstrapPassword: string | undefined;
  readonly bootstrapCreditMicroUsd: number;
  readonly pool: PoolTargets;
  readonly poolTemplates: readonly PooledTemplate[];
  readonly headroom: HeadroomRules;
  /** The most memory that all machines may use together; what the reserve leaves of the host's memory when absent. */
  readonly machinesMemoryBytes: number | undefined;
  /** How fast each machine may use its disk. */
  readonly diskRates: DiskRates;
  /** How long output and records of ended sandboxes are kept. */
  readonly retentionDays: number;
  /** The most machines at once, over all accounts; unlimited when absent. */
  readonly maxMachines: number | undefined;
  /** IPv4 ranges that no machine may reach, besides those that are always refused. */
  readonly egressRefuse: readonly string[];
  /** In micro-dollars per hour. */
  readonly prices: Readonly<Record<SizeName, number>>;
  /** In micro-dollars per GiB and 30 days. */
  readonly snapshotPriceMicroUsdPerGbMonth: number;
  readonly limits: Limits;
  /** Whose X-Forwarded-For is trusted. */
  readonly trustProxy: boolean | string;
  /** Whether /metrics is served to other hosts. */
  readonly metricsPublic: boolean;
  /** Clients that send it may read /metrics from anywhere. Secret. */
  readonly metricsToken: string | undefined;
  readonly logLevel: (typeof logLevels)[number];
}

/** The operator's certificate: PEM files as absolute paths. */
interface TlsFiles {
  /** The certificate with its chain. */
  readonly certFile: string;
  readonly keyFile: string;
}

/** Reads the settings from an environment, by default this process's. Throws a StartFailure that names every problem. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const general = environment.safeParse(env);
  const limit = limitEnvironment.safeParse(env);
  const issues = [...(general.error?.issues ?? []), ...(limit.error?.issues ?? [])];
  const problems = issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  const limits = limit.success ? limitsFrom(limit.data) : undefined;
  if (general.success) problems.push(...tlsProblems(general.data), ...exposureProblems(general.data));
  if (limits !== undefined) problems.push(...limitProblems(limits));
  if (problems.length > 0 || !general.success || limits === undefined) {
    throw new StartFailure(`Some settings are invalid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
  const { data } = general;
  return Object.freeze({
    host: data.MAYFLY_HOST,
    port: data.MAYFLY_PORT,
    inheritedSockets: inheritedSockets(env),
    apiTls: data.MAYFLY_API_TLS,
    publicUrl: data.MAYFLY_PUBLIC_URL,
    dataDir: data.MAYFLY_DATA_DIR,
    cacheDir: data.MAYFLY_CACHE_DIR,
    databaseUrl: data.MAYFLY_DATABASE_URL,
    previewDomain: data.MAYFLY_PREVIEW_DOMAIN,
    previewHost: data.MAYFLY_PREVIEW_HOST ?? data.MAYFLY_HOST,
    previewPort: data.MAYFLY_PREVIEW_PORT,
    previewPublicPort: data.MAYFLY_PREVIEW_PUBLIC_PORT,
    tlsFiles: tlsFilesFrom(data),
    bootstrapEmail: data.MAYFLY_BOOTSTRAP_EMAIL,
    bootstrapApiKey: data.MAYFLY_BOOTSTRAP_API_KEY,
    bootstrapPassword: data.MAYFLY_BOOTSTRAP_PASSWORD,
    bootstrapCreditMicroUsd: data.MAYFLY_BOOTSTRAP_CREDIT_USD,
    pool: data.MAYFLY_POOL.sizes,
    poolTemplates: data.MAYFLY_POOL.templates.map(({ email = data.MAYFLY_BOOTSTRAP_EMAIL, alias, count }) => ({
      email,
      alias,
      count,
    })),
    headroom: {
      memoryOvercommit: data.MAYFLY_MEMORY_OVERCOMMIT,
      memoryReserveBytes: data.MAYFLY_MEMORY_RESERVE_MB * mebibyte,
      diskOvercommit: data.MAYFLY_DISK_OVERCOMMIT,
      diskReserveBytes: data.MAYFLY_DISK_RESERVE_MB * mebibyte,
    },
    machinesMemoryBytes:
      data.MAYFLY_MACHINES_MEMORY_MB === undefined ? undefined : data.MAYFLY_MACHINES_MEMORY_MB * mebibyte,
    diskRates: {
      bytesPerSecond: data.MAYFLY_DISK_MB_PER_SECOND * mebibyte,
      operationsPerSecond: data.MAYFLY_DISK_OPERATIONS_PER_SECOND,
    },
    retentionDays: data.MAYFLY_RETENTION_DAYS,
    maxMachines: data.MAYFLY_MAX_MACHINES,
    egressRefuse: data.MAYFLY_EGRESS_REFUSE,
    prices: { small: data.MAYFLY_PRICE_SMALL, medium: data.MAYFLY_PRICE_MEDIUM, large: data.MAYFLY_PRICE_LARGE },
    snapshotPriceMicroUsdPerGbMonth: data.MAYFLY_PRICE_SNAPSHOT_GB_MONTH,
    limits,
    trustProxy: data.MAYFLY_TRUST_PROXY,
    metricsPublic: data.MAYFLY_METRICS_PUBLIC,
    metricsToken: data.MAYFLY_METRICS_TOKEN,
    logLevel: data.MAYFLY_LOG_LEVEL,
  });
}

/** The settings without secrets, for the log. */
export function printableConfig(config: Config): Config {
  const hidden = (secret: string | undefined) => (secret === undefined ? undefined : '[redacted]');
  return {
    ...config,
    bootstrapApiKey: hidden(config.bootstrapApiKey),
    bootstrapPassword: hidden(config.bootstrapPassword),
    databaseUrl: hidden(config.databaseUrl),
    metricsToken: hidden(config.metricsToken),
  };
}

type TlsSettings = Pick<z.output<typeof environment>, 'MAYFLY_TLS_CERT' | 'MAYFLY_TLS_KEY'>;

function tlsFilesFrom({ MAYFLY_TLS_CERT, MAYFLY_TLS_KEY }: TlsSettings): TlsFiles | undefined {
  if (MAYFLY_TLS_CERT === undefined || MAYFLY_TLS_KEY === undefined) return undefined;
  return { certFile: MAYFLY_TLS_CERT, keyFile: MAYFLY_TLS_KEY };
}

function tlsProblems({ MAYFLY_TLS_CERT, MAYFLY_TLS_KEY }: TlsSettings): readonly string[] {
  if ((MAYFLY_TLS_CERT === undefined) === (MAYFLY_TLS_KEY === undefined)) return [];
  const [missing, given] =
    MAYFLY_TLS_CERT === undefined ? ['MAYFLY_TLS_CERT', 'MAYFLY_TLS_KEY'] : ['MAYFLY_TLS_KEY', 'MAYFLY_TLS_CERT'];
  return [`${missing}: must be set together with ${given}`];
}

type ExposureSettings = Pick<
  z.output<typeof environment>,
  'MAYFLY_HOST' | 'MAYFLY_API_TLS' | 'MAYFLY_ALLOW_PLAINTEXT' | 'MAYFLY_TLS_CERT'
>;

/** Keys must not cross a network in the clear unless the operator says so. */
function exposureProblems(settings: ExposureSettings): readonly string[] {
  const { MAYFLY_HOST: host, MAYFLY_API_TLS, MAYFLY_ALLOW_PLAINTEXT, MAYFLY_TLS_CERT } = settings;
  if (MAYFLY_API_TLS) {
    return MAYFLY_TLS_CERT === undefined
      ? ['MAYFLY_API_TLS: needs a certificate in MAYFLY_TLS_CERT and MAYFLY_TLS_KEY']
      : [];
  }
  if (MAYFLY_ALLOW_PLAINTEXT || isLoopbackHost(host)) return [];
  return [
    `MAYFLY_HOST: the API would send API keys unencrypted over ${host}. Set MAYFLY_API_TLS=true with MAYFLY_TLS_CERT and MAYFLY_TLS_KEY, or listen on 127.0.0.1 behind a proxy with TLS, or set MAYFLY_ALLOW_PLAINTEXT=true if nobody else can read that network. To publish previews only, set MAYFLY_PREVIEW_HOST instead.`,
  ];
}

/** The range of each limit's setting; 1 to a billion for those not listed. */
const limitRanges: Partial<Record<keyof Limits, readonly [min: number, max: number]>> = {
  defaultTimeoutMinutes: [1, 525_600],
  maxTimeoutMinutes: [1, 525_600],
  commandCharacters: [1, 1_000_000],
  defaultCommandTimeoutMs: [1_000, 86_400_000],
  maxCommandTimeoutMs: [1_000, 86_400_000],
  captureBytes: [1_024, 16 * mebibyte],
  storedOutputMb: [1, 1_000_000],
  snapshots: [0, 1_000_000],
  snapshotStorageMb: [1, 1_000_000_000],
  fileBytes: [1_024, 64 * mebibyte],
  bodyBytes: [1_024, 64 * mebibyte],
  fileBodyBytes: [1_024, 96 * mebibyte],
  maxPageSize: [1, 1_000],
  defaultPageSize: [1, 1_000],
};

/** Pairs of limits of which the first must not exceed the second. */
const orderedLimits: readonly (readonly [keyof Limits, keyof Limits])[] = [
  ['defaultTimeoutMinutes', 'maxTimeoutMinutes'],
  ['defaultCommandTimeoutMs', 'maxCommandTimeoutMs'],
  ['defaultPageSize', 'maxPageSize'],
  ['fileBytes', 'fileBodyBytes'],
];

const limitEnvironment = z.object(
  Object.fromEntries(
    operatorLimitKeys.map((name) => {
      const [min, max] = limitRanges[name] ?? [1, 1_000_000_000];
      return [limitSetting(name), setting(wholeNumber(min, max), defaultLimits[name])];
    }),
  ),
);

/** The setting of a limit, e.g. MAYFLY_LIMIT_REQUESTS_PER_MINUTE. */
export function limitSetting(limit: keyof Limits): string {
  return `MAYFLY_LIMIT_${limit.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

function limitsFrom(settings: Readonly<Record<string, unknown>>): Limits {
  const given = Object.fromEntries(operatorLimitKeys.map((name) => [name, Number(settings[limitSetting(name)])]));
  return Object.freeze({ ...defaultLimits, ...given });
}

function limitProblems(limits: Limits): readonly string[] {
  return orderedLimits
    .filter(([low, high]) => limits[low] > limits[high])
    .map(
      ([low, high]) => `${limitSetting(low)} (${limits[low]}) must not exceed ${limitSetting(high)} (${limits[high]})`,
    );
}
