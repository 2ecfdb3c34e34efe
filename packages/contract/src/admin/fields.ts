import { z } from 'zod';
import { formatUsd, maxMicroUsd, parseUsd } from './usd.ts';

/** Decimal text such as `0.10`, read into millionths of a dollar without rounding. */
export function usdField(name: string) {
  const error = `${name} must be an amount in USD with at most 6 decimals, such as 25 or 0.10, and at most ${formatUsd(maxMicroUsd)}`;
  return z.string({ error }).transform((text, context) => {
    const microUsd = parseUsd(text);
    if (microUsd !== undefined) return microUsd;
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });
}

const emailRule = 'email must be an e-mail address';

/** An account's e-mail address. */
export const emailField = z
  .string({ error: emailRule })
  .max(254, { error: 'email must be at most 254 characters' })
  .regex(/^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u, { error: emailRule });
