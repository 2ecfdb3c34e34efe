import { resolve } from 'node:path';
import { z } from 'zod';
import { StartError } from './start-error.ts';

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** A setting that may be missing or empty, with what holds then. */
function setting<Value extends z.ZodType, const Missing>(value: Value, missing: Missing) {
  return z
    .preprocess((given) => (given === '' ? undefined : given), value.optional())
    .transform((given) => (given === undefined ? missing : given));
}

const folder = z.string().transform((path) => resolve(path));
const port = z.coerce.number({ error: 'must be a port number' }).int().min(0).max(65_535);
const publicUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .transform((url) => url.replace(/\/+$/, ''));
const email = z.string().regex(/^[^\s@]+@[^\s@]+$/, { error: 'must be an e-mail address' });
const apiKey = z.string().regex(/^[\x21-\x7e]{8,256}$/, { error: 'must be 8 to 256 visible ASCII characters' });
const usd = z.coerce.number({ error: 'must be an amount in USD' }).min(0).max(1_000_000_000);

const environment = z.object({
  MAYFLY_HOST: setting(z.string(), '127.0.0.1'),
  MAYFLY_PORT: setting(port, 8080),
  MAYFLY_PUBLIC_URL: setting(publicUrl, undefined),
  MAYFLY_DATA_DIR: setting(folder, '/var/lib/mayfly'),
  MAYFLY_CACHE_DIR: setting(folder, '/var/cache/mayfly'),
  MAYFLY_BOOTSTRAP_EMAIL: setting(email, 'admin@localhost'),
  MAYFLY_BOOTSTRAP_API_KEY: setting(apiKey, undefined),
  MAYFLY_BOOTSTRAP_CREDIT_USD: setting(usd, 100),
  MAYFLY_LOG_LEVEL: setting(z.enum(logLevels, { error: `must be one of ${logLevels.join(', ')}` }), 'info'),
});

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
  readonly bootstrapEmail: string;
  /** Secret. */
  readonly bootstrapApiKey: string | undefined;
  readonly bootstrapCreditMicroUsd: number;
  readonly logLevel: (typeof logLevels)[number];
}

/** The settings of an environment, by default this process's. Throws a StartError that names every problem. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const { success, data, error } = environment.safeParse(env);
  if (!success) {
    const problems = error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`);
    throw new StartError(`These settings cannot be used:\n${problems.join('\n')}`);
  }
  return Object.freeze({
    host: data.MAYFLY_HOST,
    port: data.MAYFLY_PORT,
    publicUrl: data.MAYFLY_PUBLIC_URL,
    dataDir: data.MAYFLY_DATA_DIR,
    cacheDir: data.MAYFLY_CACHE_DIR,
    bootstrapEmail: data.MAYFLY_BOOTSTRAP_EMAIL,
    bootstrapApiKey: data.MAYFLY_BOOTSTRAP_API_KEY,
    bootstrapCreditMicroUsd: Math.round(data.MAYFLY_BOOTSTRAP_CREDIT_USD * 1_000_000),
    logLevel: data.MAYFLY_LOG_LEVEL,
  });
}

/** The settings as they may be printed: without secrets. */
export function printableConfig(config: Config): Config {
  return { ...config, bootstrapApiKey: config.bootstrapApiKey === undefined ? undefined : '[redacted]' };
}
