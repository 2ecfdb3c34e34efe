import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../../../../', import.meta.url);
const page = readFileSync(new URL('docs/failure-contract.md', root), 'utf8');
const proofs = Array.from(page.matchAll(/`([\w./-]+\.(?:ts|go))`: “([^”]+)”/g), ([, file = '', title = '']) => ({
  file,
  title,
}));

test.each(proofs)('$file shows “$title”', ({ file, title }) => {
  const path = new URL(file, root);
  expect(existsSync(path), `${file} does not exist`).toBe(true);
  expect(readFileSync(path, 'utf8')).toContain(title);
});

test('every promise names the test that proves it', () => {
  const rows = page.split('\n').filter((line) => /^\| (?!promise|---)/.test(line));
  expect(rows.length).toBeGreaterThan(20);
  expect(rows.filter((row) => !/`[\w./-]+`: “/.test(row.split('|')[3] ?? ''))).toEqual([]);
});
