import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { type SizeName, sizeNames } from '@mayfly/contract';
import { dashboardLimits, isPasswordLength } from '@mayfly/contract/dashboard';
import { z } from 'zod';
import { formatCidr, parseCidr } from '../machines/ipv4.ts';

/** An optional setting. An empty value counts as missing and gets the default. */
export function setting<Value extends z.ZodType, const Default>(value: Value, defaultValue: Default) {
  return z
    .preprocess((given) => (given === '' ? undefined : given), value.optional())
    .transform((given) => (given === undefined ? defaultValue : given));
}

export const localPath = z.string().transform((path) => resolve(path));

/** A port to listen on; 0 takes any free port. */
export const port = z.coerce.number({ error: 'must be a port number' }).int().min(0).max(65_535);

export const publicPort = wholeNumber(1, 65_535);

export const publicUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .transform((url) => url.replace(/\/+$/, ''));

export const databaseUrl = z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' });

export const email = z.string().regex(/^[^\s@]+@[^\s@]+$/, { error: 'must be an e-mail address' });

/** Long enough that nobody guesses it. */
export const apiKey = z.string().regex(/^[\x21-\x7e]{32,256}$/, {
  error: 'must be 32 to 256 visible ASCII characters, e.g. from: openssl rand -hex 32',
});

const { minPasswordCharacters, maxPasswordCharacters } = dashboardLimits;

/** What the dashboard accepts as a new password. */
export const password = z.string().refine((text) => isPasswordLength(text), {
  error: `must be ${minPasswordCharacters} to ${maxPasswordCharacters} characters`,
});

export const domain = z
  .string()
  .toLowerCase()
  .regex(/^(?=.{1,200}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/, {
    error: 'must be a domain name',
  });

export const flag = z.enum(['true', 'false'], { error: 'must be true or false' }).transform((text) => text === 'true');

/** An amount in USD, converted to micro-dollars. */
export const microUsd = z.coerce
  .number({ error: 'must be an amount in USD' })
  .min(0)
  .max(1_000_000_000)
  .transform((usd) => Math.round(usd * 1_000_000));

/** A whole number from `min` to `max`. */
export function wholeNumber(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z
    .string({ error })
    .regex(/^\d{1,15}$/, { error, abort: true })
    .transform(Number)
    .pipe(z.number().min(min, { error }).max(max, { error }));
}

/** Whose forwarding headers are trusted: `true`, `false`, or a comma-separated list of addresses and ranges. */
export const trustProxy = z
  .string()
  .transform((text) => (text === 'true' ? true : text === 'false' ? false : text.replaceAll(' ', '')))
  .refine((value) => typeof value === 'boolean' || value.split(',').every(isAddressOrRange), {
    error: 'must be true, false, or a comma-separated list of addresses and ranges',
  });

/** Whether only this machine can reach a server that listens on this address or name. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function isAddressOrRange(text: string): boolean {
  const [address = '', bits = '0', ...rest] = text.split('/');
  const maxBits = isIP(address) === 6 ? 128 : 32;
  return isIP(address) > 0 && rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= maxBits;
}

const maxRanges = 1_000;
const rangesError = `must be a comma-separated list of at most ${maxRanges} IPv4 addresses and CIDR blocks, e.g. 203.0.113.7,198.51.100.0/24`;

/** IPv4 addresses and CIDR blocks. */
export const ipv4Ranges = z.string({ error: rangesError }).transform((text, context): readonly string[] => {
  const blocks = text.split(',').map((part) => parseCidr(part.trim()));
  const valid = blocks.filter((block) => block !== undefined);
  if (valid.length === blocks.length && blocks.length <= maxRanges) return valid.map(formatCidr);
  context.addIssue({ code: 'custom', message: rangesError });
  return z.NEVER;
});

const maxPooledAlike = 100;
const poolError = `must be sizes or templates with numbers, e.g. small=1,template:web-app=2 (at most ${maxPooledAlike} of one kind; a template of another account: template:EMAIL/NAME=2), or none`;
const pooledSize = /^(\w+)\s*=\s*(\d{1,3})$/;
const pooledTemplate = /^template:(?:([^\s@/=]+@[^\s@/=]+)\/)?([a-z0-9][a-z0-9._-]{0,99})\s*=\s*(\d{1,3})$/;

/** What the pool holds. */
interface PoolSetting {
  readonly sizes: Readonly<Partial<Record<SizeName, number>>>;
  /** Without an e-mail address: of the first account. */
  readonly templates: readonly { readonly email: string | undefined; readonly alias: string; readonly count: number }[];
}

/** How many machines of each size and template the pool holds, e.g. `small=1,template:web-app=2`; `none` for no pool. */
export const pool = z.string({ error: poolError }).transform((text, context): PoolSetting => {
  if (text.trim() === 'none') return { sizes: {}, templates: [] };
  const parts = text.split(',').map((part) => parsePooled(part.trim()));
  const names = new Set(parts.map((part) => part?.name));
  if (names.size === parts.length && parts.every((part) => part !== undefined && part.count <= maxPooledAlike)) {
    return {
      sizes: Object.fromEntries(parts.flatMap((part) => (part?.size ? [[part.size, part.count]] : []))),
      templates: parts.flatMap((part) => (part?.template ? [{ ...part.template, count: part.count }] : [])),
    };
  }
  context.addIssue({ code: 'custom', message: poolError });
  return z.NEVER;
});

interface Pooled {
  readonly name: string;
  readonly count: number;
  readonly size?: SizeName;
  readonly template?: { readonly email: string | undefined; readonly alias: string };
}

function parsePooled(part: string): Pooled | undefined {
  const [, email, alias, ofTemplate] = pooledTemplate.exec(part) ?? [];
  if (alias !== undefined) {
    return { name: `template:${email ?? ''}/${alias}`, count: Number(ofTemplate), template: { email, alias } };
  }
  const [, name, ofSize] = pooledSize.exec(part) ?? [];
  const size = sizeNames.find((known) => known === name);
  return size && { name: size, count: Number(ofSize), size };
}
