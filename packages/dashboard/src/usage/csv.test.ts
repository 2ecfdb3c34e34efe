import { expect, test } from 'vitest';
import { toCsv, usageCsv } from './csv.ts';

test('cells are quoted where needed', () => {
  expect(toCsv([['a', 'b,c', 'say "hi"', 'two\nlines', 1.5]])).toBe('a,"b,c","say ""hi""","two\nlines",1.5\r\n');
});

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '=HYPERLINK("http://evil.example","x")'])(
  '%j is text for a spreadsheet',
  (text) => {
    expect(toCsv([[text]]).replace(/^"/, '')).toMatch(/^'/);
  },
);

test('a number stays one', () => {
  expect(toCsv([[-1, 0.000_05]])).toBe('-1,0.00005\r\n');
});

test('usage has a row per day and item', () => {
  const data = [{ date: '2026-01-01', item: 'large', cost_usd: 0.4, runtime_seconds: 7200, sandboxes: 1 }] as const;
  expect(usageCsv({ data: [...data] })).toBe(
    'date,item,cost_usd,runtime_seconds,sandboxes_started\r\n2026-01-01,large,0.4,7200,1\r\n',
  );
});
