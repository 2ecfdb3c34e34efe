import type { UsageDays } from '@mayfly/contract/dashboard';

/** What spreadsheets take for the beginning of a formula. */
const formula = /^[=+\-@\t\r]/;

/** A table as CSV (RFC 4180). Text that a spreadsheet would run as a formula is marked as text. */
export function toCsv(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join('');
}

function cellOf(value: string | number): string {
  if (typeof value === 'number') return `${value}`;
  const text = formula.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The usage by day and size as CSV. */
export function usageCsv({ data }: Pick<UsageDays, 'data'>): string {
  return toCsv([
    ['date', 'item', 'cost_usd', 'runtime_seconds', 'sandboxes_started'],
    ...data.map(({ date, item, cost_usd, runtime_seconds, sandboxes }) => [
      date,
      item,
      cost_usd,
      runtime_seconds,
      sandboxes,
    ]),
  ]);
}
