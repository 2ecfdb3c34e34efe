import { z } from 'zod';

const microPerUsd = 1_000_000n;

/** The maximum of a single credit and of a balance, in micro-dollars. */
export const maxMicroUsd = 1_000_000_000_000_000;

/** Parses a decimal amount into micro-dollars without rounding. Undefined if it is malformed, has more than 6 decimals or is too large. */
export function parseUsd(text: string): number | undefined {
  const [, sign, whole, decimals = ''] = /^([+-]?)(\d{1,15})(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const amount = Number(BigInt(whole) * microPerUsd + BigInt(decimals.padEnd(6, '0')));
  if (amount > maxMicroUsd) return undefined;
  return sign === '-' && amount !== 0 ? -amount : amount;
}

/** Formats micro-dollars as a decimal amount with 2 to 6 decimals. */
export function formatUsd(microUsd: number): string {
  const digits = String(Math.abs(microUsd)).padStart(7, '0');
  const decimals = digits.slice(-6).replace(/0{1,4}$/, '');
  return `${microUsd < 0 ? '-' : ''}${digits.slice(0, -6)}.${decimals}`;
}

/** A decimal amount such as `0.10`, sent as text and parsed into micro-dollars. */
export function usdField(name: string) {
  const error = `${name} must be an amount in USD with at most 6 decimals, such as 25 or 0.10, and at most ${formatUsd(maxMicroUsd)}`;
  return z.string({ error }).transform((text, context) => {
    const microUsd = parseUsd(text);
    if (microUsd !== undefined) return microUsd;
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });
}
