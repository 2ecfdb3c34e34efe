const microPerUsd = 1_000_000n;

/** The most that an account may be given at once or have, in millionths of a dollar. */
export const maxMicroUsd = 1_000_000_000_000_000;

/** Decimal text as millionths of a dollar, exactly; undefined if it is no amount, has more than 6 decimals or is too large. */
export function parseUsd(text: string): number | undefined {
  const [, sign, whole, decimals = ''] = /^([+-]?)(\d{1,15})(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const amount = Number(BigInt(whole) * microPerUsd + BigInt(decimals.padEnd(6, '0')));
  if (amount > maxMicroUsd) return undefined;
  return sign === '-' && amount !== 0 ? -amount : amount;
}

/** Millionths of a dollar as decimal text with 2 to 6 decimals. */
export function formatUsd(microUsd: number): string {
  const digits = String(Math.abs(microUsd)).padStart(7, '0');
  const decimals = digits.slice(-6).replace(/0{1,4}$/, '');
  return `${microUsd < 0 ? '-' : ''}${digits.slice(0, -6)}.${decimals}`;
}
