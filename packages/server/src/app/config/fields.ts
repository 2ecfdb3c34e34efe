import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { z } from 'zod';

/** A setting that may be missing or empty, with what holds then. */
export function setting<Value extends z.ZodType, const Missing>(value: Value, missing: Missing) {
  return z
    .preprocess((given) => (given === '' ? undefined : given), value.optional())
    .transform((given) => (given === undefined ? missing : given));
}

export const localPath = z.string().transform((path) => resolve(path));
/** 0 takes any free one. */
export const port = z.coerce.number({ error: 'must be a port number' }).int().min(0).max(65_535);
export const publicPort = wholeNumber(1, 65_535);
export const publicUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .transform((url) => url.replace(/\/+$/, ''));
export const databaseUrl = z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' });
export const email = z.string().regex(/^[^\s@]+@[^\s@]+$/, { error: 'must be an e-mail address' });
export const apiKey = z.string().regex(/^[\x21-\x7e]{8,256}$/, { error: 'must be 8 to 256 visible ASCII characters' });
export const domain = z
  .string()
  .toLowerCase()
  .regex(/^(?=.{1,200}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/, {
    error: 'must be a domain name',
  });

export const flag = z.enum(['true', 'false'], { error: 'must be true or false' }).transform((text) => text === 'true');

/** An amount in USD, as millionths of a dollar. */
export const microUsd = z.coerce
  .number({ error: 'must be an amount in USD' })
  .min(0)
  .max(1_000_000_000)
  .transform((usd) => Math.round(usd * 1_000_000));

/** A whole number within bounds. */
export function wholeNumber(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z
    .string({ error })
    .regex(/^\d{1,15}$/, { error, abort: true })
    .transform(Number)
    .pipe(z.number().min(min, { error }).max(max, { error }));
}

const isAddressOrRange = (text: string) => {
  const [address = '', bits, ...rest] = text.split('/');
  return isIP(address) > 0 && rest.length === 0 && (bits === undefined || /^\d{1,3}$/.test(bits));
};

/** Whose forwarding headers are believed: `true`, `false`, or a list of addresses and ranges with commas between. */
export const trustProxy = z
  .string()
  .transform((text) => (text === 'true' ? true : text === 'false' ? false : text.replaceAll(' ', '')))
  .refine((value) => typeof value === 'boolean' || value.split(',').every(isAddressOrRange), {
    error: 'must be true, false, or addresses and ranges with commas between',
  });
